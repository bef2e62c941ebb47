// RUN: HIDET_ROUNDTRIP
// RUN: hidet-opt %s | hidet-opt | filecheck %s

// Images may come without a dimension of images.

func.func @windows(%x : tensor<2x3x8x8xf32>, %y : tensor<3x8x9xi64>) {
  %0 = graph.windows %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, outside = 0xff800000 : f32} : (tensor<2x3x8x8xf32>) -> tensor<2x3x4x4x3x3xf32>
  %1 = graph.windows %y {kernel = array<i64: 2, 3>, stride = array<i64: 3, 3>, dilation = array<i64: 2, 1>, ceil_mode = true, outside = 0 : i64} : (tensor<3x8x9xi64>) -> tensor<3x3x3x2x3xi64>
  func.return
}

// CHECK-LABEL: func.func @windows
// CHECK-NEXT:    %0 = graph.windows %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, outside = 0xff800000 : f32} : (tensor<2x3x8x8xf32>) -> tensor<2x3x4x4x3x3xf32>
// CHECK-NEXT:    %1 = graph.windows %y {kernel = array<i64: 2, 3>, stride = array<i64: 3, 3>, dilation = array<i64: 2, 1>, ceil_mode = true, outside = 0 : i64} : (tensor<3x8x9xi64>) -> tensor<3x3x3x2x3xi64>
