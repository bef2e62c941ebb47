// RUN: HIDET_ROUNDTRIP
// RUN: hidet-opt %s | hidet-opt | filecheck %s

// Stride, padding, dilation and groups are printed where they matter.

func.func @convolution(%x : tensor<2x4x9x8xf32>, %w : tensor<6x2x3x3xf32>, %v : tensor<6x4x3x3xf32>, %b : tensor<6xf32>) {
  %0 = graph.conv2d %x, %v : (tensor<2x4x9x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x7x6xf32>
  %1 = graph.conv2d %x, %w, %b {dilation = array<i64: 1, 2>, groups = 2 : i64, padding = array<i64: 1, 1>, stride = array<i64: 2, 1>} : (tensor<2x4x9x8xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<2x6x5x6xf32>
  func.return
}

// CHECK-LABEL: func.func @convolution
// CHECK-NEXT:    %0 = graph.conv2d %x, %v : (tensor<2x4x9x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x7x6xf32>
// CHECK-NEXT:    %1 = graph.conv2d %x, %w, %b {dilation = array<i64: 1, 2>, groups = 2 : i64, padding = array<i64: 1, 1>, stride = array<i64: 2, 1>} : (tensor<2x4x9x8xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<2x6x5x6xf32>

// Convolutions of groups in the order of memory: channels last, here of one and of two channels.
func.func @grouped(%x : tensor<2x9x8x4xf16>, %w : tensor<3x2x1x4xf16>, %v : tensor<3x2x2x4xf16>) {
  %0 = graph.grouped_conv2d %x, %w : (tensor<2x9x8x4xf16>, tensor<3x2x1x4xf16>) -> tensor<2x7x7x4xf32>
  %1 = graph.grouped_conv2d %x, %v {stride = array<i64: 2, 1>, dilation = array<i64: 1, 3>} : (tensor<2x9x8x4xf16>, tensor<3x2x2x4xf16>) -> tensor<2x4x5x4xf16>
  func.return
}

// CHECK-LABEL: func.func @grouped
// CHECK-NEXT:    %0 = graph.grouped_conv2d %x, %w : (tensor<2x9x8x4xf16>, tensor<3x2x1x4xf16>) -> tensor<2x7x7x4xf32>
// CHECK-NEXT:    %1 = graph.grouped_conv2d %x, %v {stride = array<i64: 2, 1>, dilation = array<i64: 1, 3>} : (tensor<2x9x8x4xf16>, tensor<3x2x2x4xf16>) -> tensor<2x4x5x4xf16>

// The gradient of its filters, in parts.
func.func @grouped_filter(%x : tensor<2x9x8x4xf16>, %g : tensor<2x4x5x4xf16>) {
  %0 = graph.grouped_filter_gradient %x, %g {kernel = array<i64: 3, 2>, stride = array<i64: 2, 1>, dilation = array<i64: 1, 3>, groups = 2 : i64, parts = 3 : i64} : (tensor<2x9x8x4xf16>, tensor<2x4x5x4xf16>) -> tensor<3x3x2x2x4xf32>
  func.return
}

// CHECK-LABEL: func.func @grouped_filter
// CHECK-NEXT:    %0 = graph.grouped_filter_gradient %x, %g {kernel = array<i64: 3, 2>, stride = array<i64: 2, 1>, dilation = array<i64: 1, 3>, groups = 2 : i64, parts = 3 : i64} : (tensor<2x9x8x4xf16>, tensor<2x4x5x4xf16>) -> tensor<3x3x2x2x4xf32>

// The gradient of the filters of a convolution.
func.func @filter(%x : tensor<2x4x9x8xf16>, %g : tensor<2x6x5x6xf16>) {
  %0 = graph.conv2d_filter_gradient %x, %g {kernel = array<i64: 3, 3>, stride = array<i64: 2, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 2>, groups = 2 : i64} : (tensor<2x4x9x8xf16>, tensor<2x6x5x6xf16>) -> tensor<6x2x3x3xf32>
  func.return
}

// CHECK-LABEL: func.func @filter
// CHECK-NEXT:    %0 = graph.conv2d_filter_gradient %x, %g {kernel = array<i64: 3, 3>, stride = array<i64: 2, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 2>, groups = 2 : i64} : (tensor<2x4x9x8xf16>, tensor<2x6x5x6xf16>) -> tensor<6x2x3x3xf32>
