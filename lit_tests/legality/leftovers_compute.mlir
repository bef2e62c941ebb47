// RUN: hidet-opt %s -p 'verify-level{level=compute}' --verify-diagnostics --split-input-file | filecheck %s
// RUN: hidet-opt %s -p 'verify-level{level=compute after=fuse}' --verify-diagnostics --split-input-file | filecheck %s --check-prefix FUSED

// Host functions before and after `fuse`.

// CHECK: graph.relu is left in a host function
// CHECK-NEXT: at: graph.relu in @operator
// CHECK-NEXT: hint: lower-graph-to-compute should have lowered it
func.func @operator(%x : tensor<4xf32>) {
  %y = graph.relu %x : tensor<4xf32>
  func.return
}

// -----

// Grids and anchors are free until they are fused; weights are read by name all the way.

// CHECK: func.func @grids
// FUSED: compute.grid is left in a host function
// FUSED-NEXT: at: compute.grid in @grids
// FUSED-NEXT: hint: fuse should have lowered it
func.func @grids() {
  %w = graph.constant "p0" : tensor<4xf32>
  %y = compute.grid (%i) {
    %v = compute.load %w[%i] : tensor<4xf32>
    %z = compute.reduce add [4] (%k) {
      %u = compute.load %w[%k] : tensor<4xf32>
      compute.yield %u : f32
    } : f32
    %s = arith.mulf %v, %z : f32
    compute.yield %s : f32
  } : tensor<4xf32>
  func.return
}

// -----

// CHECK: func.func @anchor
// FUSED: graph.matmul is left in a host function
func.func @anchor(%x : tensor<4x4xf32>) {
  %y = graph.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return
}

// -----

// CHECK: compute.fusion is in a host function too early
// CHECK-NEXT: at: compute.fusion in @fused
// CHECK-NEXT: hint: fuse creates it
// FUSED: func.func @fused
func.func @fused(%x : tensor<4x4xf32>) {
  %w = graph.constant "p0" : tensor<4x4xf32>
  compute.fusion (%x_ = %x : tensor<4x4xf32>, %w_ = %w : tensor<4x4xf32>) -> () {
    %y = graph.matmul %x_, %w_ : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %z = compute.grid (%i, %j) {
      %v = compute.load %y[%i, %j] : tensor<4x4xf32>
      compute.yield %v : f32
    } : tensor<4x4xf32>
    compute.yield
  }
  func.return
}

// -----

// CHECK: compute.fusion is in a host function too early
// FUSED: graph.relu is not legal in a fusion
func.func @operator_in_fusion(%x : tensor<4xf32>) {
  compute.fusion (%x_ = %x : tensor<4xf32>) -> () {
    %y = graph.relu %x_ : tensor<4xf32>
    compute.yield
  }
  func.return
}

// -----

// CHECK: cuda.thread_id is not legal in the body of a grid
// FUSED: compute.grid is left in a host function
func.func @thread_in_grid() {
  %y = compute.grid (%i) {
    %t = cuda.thread_id x
    %one = arith.constant 1.0 : f32
    compute.yield %one : f32
  } : tensor<4xf32>
  func.return
}
