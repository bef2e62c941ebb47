// RUN: hidet-opt %s -p 'merge-taps' | filecheck %s

// Images of three channels are stored as rows of pixels of four. The windows of a row overlap: two
// pixels further is 16 bytes. An eighth tap makes the window a multiple of that.

// CHECK-LABEL: func.func @stem
// CHECK-NEXT:    %[[p:.*]] = graph.pad %x {low = array<i64: 0, 0, 3, 3>, high = array<i64: 0, 1, 2, 3>{{.*}} -> tensor<2x4x37x38xf16>
// CHECK-NEXT:    %[[t:.*]] = graph.permute %[[p]] {dims = array<i64: 0, 2, 3, 1>}
// CHECK-NEXT:    %[[r:.*]] = graph.reshape %[[t]] : (tensor<2x37x38x4xf16>) -> tensor<2x37x152xf16>
// CHECK-NEXT:    %[[s:.*]] = graph.pack %[[r]] {dims = array<i64: 0, 1, 2>}
// CHECK-NEXT:    %[[f:.*]] = graph.reshape %[[s]] : (tensor<2x37x152xf16>) -> tensor<11248xf16>
// CHECK-NEXT:    %[[v:.*]] = graph.as_strided %[[f]] {strides = array<i64: 5624, 1, 152, 8>} {{.*}} -> tensor<2x32x37x16xf16>
// CHECK-NEXT:    %[[w:.*]] = graph.pad %w {low = array<i64: 0, 0, 0, 0>, high = array<i64: 0, 1, 0, 1>{{.*}} -> tensor<64x4x7x8xf16>
// CHECK-NEXT:    %[[m:.*]] = graph.permute %[[w]] {dims = array<i64: 0, 3, 1, 2>}
// CHECK-NEXT:    %[[n:.*]] = graph.reshape %[[m]] : (tensor<64x8x4x7xf16>) -> tensor<64x32x7x1xf16>
// CHECK-NEXT:    %y = graph.conv2d %[[v]], %[[n]] {stride = array<i64: 2, 1>} : {{.*}} -> tensor<2x64x16x16xf16>
func.func @stem(%x: tensor<2x3x32x32xf16>, %w: tensor<64x3x7x7xf16>) -> tensor<2x64x16x16xf16> {
  %y = graph.conv2d %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 3, 3>} : (tensor<2x3x32x32xf16>, tensor<64x3x7x7xf16>) -> tensor<2x64x16x16xf16>
  func.return %y : tensor<2x64x16x16xf16>
}

// A step of one pixel is no multiple of 16 bytes; neither is one of dilated taps contiguous. Pixels
// of f32 are vectors, and more channels have their own.

// CHECK-LABEL: func.func @others
// CHECK-NOT:     graph.as_strided
func.func @others(%x: tensor<2x3x32x32xf16>, %w: tensor<8x3x3x3xf16>, %x32: tensor<2x3x32x32xf32>, %w32: tensor<8x3x3x3xf32>, %x8: tensor<2x8x32x32xf16>, %w8: tensor<8x8x3x3xf16>) -> (tensor<2x8x30x30xf16>, tensor<2x8x14x14xf16>, tensor<2x8x15x15xf32>, tensor<2x8x15x15xf16>) {
  %a = graph.conv2d %x, %w : (tensor<2x3x32x32xf16>, tensor<8x3x3x3xf16>) -> tensor<2x8x30x30xf16>
  %b = graph.conv2d %x, %w {stride = array<i64: 2, 2>, dilation = array<i64: 2, 2>} : (tensor<2x3x32x32xf16>, tensor<8x3x3x3xf16>) -> tensor<2x8x14x14xf16>
  %c = graph.conv2d %x32, %w32 {stride = array<i64: 2, 2>} : (tensor<2x3x32x32xf32>, tensor<8x3x3x3xf32>) -> tensor<2x8x15x15xf32>
  %d = graph.conv2d %x8, %w8 {stride = array<i64: 2, 2>} : (tensor<2x8x32x32xf16>, tensor<8x8x3x3xf16>) -> tensor<2x8x15x15xf16>
  func.return %a, %b, %c, %d : tensor<2x8x30x30xf16>, tensor<2x8x14x14xf16>, tensor<2x8x15x15xf32>, tensor<2x8x15x15xf16>
}
