// RUN: hidet-opt %s -p 'verify-level{level=graph}' --verify-diagnostics --split-input-file | filecheck %s

// CHECK: func.func @forward
func.func @forward(%x : tensor<4xf32>) -> tensor<4xf32> {
  %w = graph.constant "p0" : tensor<4xf32>
  %y = graph.add %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// CHECK: compute.grid is in a host function too early
// CHECK-NEXT: at: compute.grid in @grid
// CHECK-NEXT: hint: lower-graph-to-compute creates it
func.func @grid() {
  %y = compute.grid () {
    %one = arith.constant 1.0 : f32
    compute.yield %one : f32
  } : tensor<f32>
  func.return
}

// -----

// CHECK: cuda.sync_threads is not legal in a host function
func.func @barrier() {
  cuda.sync_threads
  func.return
}
