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

// In larger images 4 adjacent output pixels have a window of 16 pixels, 128 bytes, and 4 times the
// filters, shifted by 2 pixels each: loads of longer rows. A result that is returned has none.

// CHECK-LABEL: func.func @large
// CHECK:         %[[v:.*]] = graph.as_strided %{{.*}} {strides = array<i64: 212512, 1, 928, 32>} {{.*}} -> tensor<4x64x229x28xf16>
// CHECK-NEXT:    %[[a:.*]] = graph.pad %w {low = array<i64: 0, 0, 0, 0>, high = array<i64: 0, 1, 0, 9>
// CHECK-NEXT:    %[[b:.*]] = graph.pad %w {low = array<i64: 0, 0, 0, 2>, high = array<i64: 0, 1, 0, 7>
// CHECK-NEXT:    %[[c:.*]] = graph.pad %w {low = array<i64: 0, 0, 0, 4>, high = array<i64: 0, 1, 0, 5>
// CHECK-NEXT:    %[[d:.*]] = graph.pad %w {low = array<i64: 0, 0, 0, 6>, high = array<i64: 0, 1, 0, 3>
// CHECK-NEXT:    %[[e:.*]] = graph.concat %[[a]], %[[b]], %[[c]], %[[d]] {axis = 0 : i64}
// CHECK:         %[[f:.*]] = graph.concat %bias, %bias, %bias, %bias {axis = 0 : i64}
// CHECK-NEXT:    %[[y:.*]] = graph.conv2d %[[v]], %{{.*}}, %[[f]] {stride = array<i64: 2, 1>} : {{.*}} -> tensor<4x256x112x28xf16>
// CHECK-NEXT:    %[[r:.*]] = graph.reshape %[[y]] : (tensor<4x256x112x28xf16>) -> tensor<4x4x64x112x28xf16>
// CHECK-NEXT:    %[[m:.*]] = graph.permute %[[r]] {dims = array<i64: 0, 2, 3, 4, 1>}
// CHECK-NEXT:    %y = graph.reshape %[[m]] : (tensor<4x64x112x28x4xf16>) -> tensor<4x64x112x112xf16>
// CHECK:         graph.as_strided %{{.*}} -> tensor<4x32x229x112xf16>
func.func @large(%x: tensor<4x3x224x224xf16>, %w: tensor<64x3x7x7xf16>, %bias: tensor<64xf16>) -> (tensor<4x64xf16>, tensor<4x64x112x112xf16>) {
  %y = graph.conv2d %x, %w, %bias {stride = array<i64: 2, 2>, padding = array<i64: 3, 3>} : (tensor<4x3x224x224xf16>, tensor<64x3x7x7xf16>, tensor<64xf16>) -> tensor<4x64x112x112xf16>
  %m = graph.mean %y {axes = array<i64: 2, 3>} : (tensor<4x64x112x112xf16>) -> tensor<4x64xf16>
  %z = graph.conv2d %x, %w, %bias {stride = array<i64: 2, 2>, padding = array<i64: 3, 3>} : (tensor<4x3x224x224xf16>, tensor<64x3x7x7xf16>, tensor<64xf16>) -> tensor<4x64x112x112xf16>
  %r = graph.relu %z : tensor<4x64x112x112xf16>
  func.return %m, %r : tensor<4x64xf16>, tensor<4x64x112x112xf16>
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
