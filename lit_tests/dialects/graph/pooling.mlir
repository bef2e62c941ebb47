// RUN: HIDET_ROUNDTRIP
// RUN: hidet-opt %s | hidet-opt | filecheck %s

// Images may come without a dimension of images.

func.func @pooling(%x : tensor<2x3x8x8xf32>, %y : tensor<3x8x9xf32>) {
  %0 = graph.max_pool2d %x {kernel = array<i64: 3, 3>, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>} : (tensor<2x3x8x8xf32>) -> tensor<2x3x4x4xf32>
  %1 = graph.avg_pool2d %y {ceil_mode = true, divisor = 5 : i64, kernel = array<i64: 2, 3>, stride = array<i64: 3, 3>} : (tensor<3x8x9xf32>) -> tensor<3x3x3xf32>
  func.return
}

// CHECK-LABEL: func.func @pooling
// CHECK-NEXT:    %0 = graph.max_pool2d %x {kernel = array<i64: 3, 3>, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>} : (tensor<2x3x8x8xf32>) -> tensor<2x3x4x4xf32>
// CHECK-NEXT:    %1 = graph.avg_pool2d %y {ceil_mode = true, divisor = 5 : i64, kernel = array<i64: 2, 3>, stride = array<i64: 3, 3>} : (tensor<3x8x9xf32>) -> tensor<3x3x3xf32>
