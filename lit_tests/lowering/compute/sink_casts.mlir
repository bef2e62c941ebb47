// RUN: hidet-opt %s -p 'sink-casts' | filecheck %s

// What is widened last is stored narrow, and each load widens.

// CHECK-LABEL: func.func @widened
// CHECK-NEXT:    %y = compute.grid (%i) {
// CHECK-NEXT:      %[[V:.*]] = compute.load %x[%i] : tensor<8xf32>
// CHECK-NEXT:      %[[N:.*]] = arith.truncf %[[V]] : f32 to f16
// CHECK-NEXT:      compute.yield %[[N]] : f16
// CHECK-NEXT:    } : tensor<8xf16>
// CHECK-NEXT:    %z = compute.grid (%i_1) {
// CHECK-NEXT:      %[[L:.*]] = compute.load %y[%i_1] : tensor<8xf16>
// CHECK-NEXT:      %[[W:.*]] = arith.extf %[[L]] : f16 to f32
// CHECK-NEXT:      %{{.*}} = math.exp %[[W]] : f32
func.func @widened(%x : tensor<8xf32>) -> tensor<8xf32> {
  %y = compute.grid (%i) {
    %v = compute.load %x[%i] : tensor<8xf32>
    %n = arith.truncf %v : f32 to f16
    %w = arith.extf %n : f16 to f32
    compute.yield %w : f32
  } : tensor<8xf32>
  %z = compute.grid (%i) {
    %v = compute.load %y[%i] : tensor<8xf32>
    %e = math.exp %v : f32
    compute.yield %e : f32
  } : tensor<8xf32>
  func.return %z : tensor<8xf32>
}

// Results of functions keep their type.

// CHECK-LABEL: func.func @result
// CHECK:         compute.yield %{{.*}} : f32
func.func @result(%x : tensor<8xf32>) -> tensor<8xf32> {
  %y = compute.grid (%i) {
    %v = compute.load %x[%i] : tensor<8xf32>
    %n = arith.truncf %v : f32 to f16
    %w = arith.extf %n : f16 to f32
    compute.yield %w : f32
  } : tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// A view is no computation: its readers load its source anyway.

// CHECK-LABEL: func.func @view
// CHECK:         } : tensor<8xf32>
// CHECK-NEXT:    %z = compute.grid
// CHECK-NEXT:      compute.load %y[%i_1] : tensor<8xf32>
func.func @view(%x : tensor<8xf16>) -> tensor<8xf32> {
  %y = compute.grid (%i) {
    %v = compute.load %x[%i] : tensor<8xf16>
    %w = arith.extf %v : f16 to f32
    compute.yield %w : f32
  } : tensor<8xf32>
  %z = compute.grid (%i) {
    %v = compute.load %y[%i] : tensor<8xf32>
    %e = math.exp %v : f32
    compute.yield %e : f32
  } : tensor<8xf32>
  func.return %z : tensor<8xf32>
}
