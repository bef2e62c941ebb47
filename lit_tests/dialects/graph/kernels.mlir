// RUN: HIDET_ROUNDTRIP
// RUN: hidet-opt %s | hidet-opt | filecheck %s

// A kernel of the module is called; the second result of the second call holds %y at first.

cuda.kernel @norm(%x : memref<4x8xf32>, %y : memref<?xf32>, %scale : memref<4xf32>) grid(4) block(8) {
}

func.func @calls(%x : tensor<4x8xf32>) {
  %y, %s = graph.call_kernel @norm(%x) : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
  %z, %t = graph.call_kernel @norm(%x, %s) {inits = array<i64: 1>} : (tensor<4x8xf32>, tensor<4xf32>) -> (tensor<32xf32>, tensor<4xf32>)
  func.return
}

// CHECK-LABEL: func.func @calls
// CHECK-NEXT:    %y, %s = graph.call_kernel @norm(%x) : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
// CHECK-NEXT:    %z, %t = graph.call_kernel @norm(%x, %s) {inits = array<i64: 1>} : (tensor<4x8xf32>, tensor<4xf32>) -> (tensor<32xf32>, tensor<4xf32>)
