// RUN: hidet-opt %s -p decompose-graph --split-input-file | filecheck %s

// Channels stay first: the filters times each of the images, without copies.
func.func @pointwise(%x : tensor<2x64x16x16xf16>, %w : tensor<32x64x1x1xf16>, %b : tensor<32xf16>) -> tensor<2x32x16x16xf16> {
  %y = graph.conv2d %x, %w, %b : (tensor<2x64x16x16xf16>, tensor<32x64x1x1xf16>, tensor<32xf16>) -> tensor<2x32x16x16xf16>
  %z = graph.relu %y : tensor<2x32x16x16xf16>
  func.return %z : tensor<2x32x16x16xf16>
}

// CHECK-LABEL: func.func @pointwise
// CHECK-NEXT:    %[[X:\d+]] = graph.reshape %x : (tensor<2x64x16x16xf16>) -> tensor<2x64x256xf16>
// CHECK-NEXT:    %[[W:\d+]] = graph.reshape %w : (tensor<32x64x1x1xf16>) -> tensor<32x64xf16>
// CHECK-NEXT:    %conv = graph.matmul %[[W]], %[[X]] : (tensor<32x64xf16>, tensor<2x64x256xf16>) -> tensor<2x32x256xf32>
// CHECK-NEXT:    %[[C:\d+]] = graph.cast %b : (tensor<32xf16>) -> tensor<32xf32>
// CHECK-NEXT:    %[[B:\d+]] = graph.reshape %[[C]] : (tensor<32xf32>) -> tensor<32x1xf32>
// CHECK-NEXT:    %[[S:\d+]] = graph.add %conv, %[[B]] : (tensor<2x32x256xf32>, tensor<32x1xf32>) -> tensor<2x32x256xf32>
// CHECK-NEXT:    %[[R:\d+]] = graph.reshape %[[S]] : (tensor<2x32x256xf32>) -> tensor<2x32x16x16xf32>
// CHECK-NEXT:    %y = graph.cast %[[R]]
// CHECK-NEXT:    %z = graph.relu %y

// -----

// The result of one is the image of the next.
func.func @both(%x : tensor<2x64x16x16xf16>, %w : tensor<32x64x1x1xf16>, %v : tensor<8x32x1x1xf16>) -> tensor<2x8x16x16xf16> {
  %y = graph.conv2d %x, %w : (tensor<2x64x16x16xf16>, tensor<32x64x1x1xf16>) -> tensor<2x32x16x16xf16>
  %z = graph.conv2d %y, %v : (tensor<2x32x16x16xf16>, tensor<8x32x1x1xf16>) -> tensor<2x8x16x16xf16>
  func.return %z : tensor<2x8x16x16xf16>
}

// CHECK-LABEL: func.func @both
// CHECK-NOT: graph.permute
// CHECK: -> tensor<2x32x256xf32>
// CHECK-NOT: graph.permute
// CHECK: -> tensor<2x8x256xf32>
// CHECK-NOT: graph.permute

// -----

// Another convolution of the program has its channels last.
func.func @beside_windows(%x : tensor<2x64x16x16xf16>, %w : tensor<32x64x1x1xf16>, %v : tensor<32x64x3x3xf16>) -> tensor<2x32x16x16xf16> {
  %y = graph.conv2d %x, %w : (tensor<2x64x16x16xf16>, tensor<32x64x1x1xf16>) -> tensor<2x32x16x16xf16>
  %z = graph.conv2d %x, %v {padding = array<i64: 1, 1>} : (tensor<2x64x16x16xf16>, tensor<32x64x3x3xf16>) -> tensor<2x32x16x16xf16>
  %r = graph.add %y, %z : (tensor<2x32x16x16xf16>, tensor<2x32x16x16xf16>) -> tensor<2x32x16x16xf16>
  func.return %r : tensor<2x32x16x16xf16>
}

// CHECK-LABEL: func.func @beside_windows
// CHECK: graph.matmul {{.*}} : (tensor<512x64xf16>, tensor<64x32xf16>) -> tensor<512x32xf32>

// -----

// Images have their channels last.
func.func @channels_last(%x : tensor<2x16x16x64xf16>, %w : tensor<32x64x1x1xf16>) -> tensor<2x32x16x16xf16> {
  %i = graph.permute %x {dims = array<i64: 0, 3, 1, 2>} : (tensor<2x16x16x64xf16>) -> tensor<2x64x16x16xf16>
  %y = graph.conv2d %i, %w : (tensor<2x64x16x16xf16>, tensor<32x64x1x1xf16>) -> tensor<2x32x16x16xf16>
  func.return %y : tensor<2x32x16x16xf16>
}

// CHECK-LABEL: func.func @channels_last
// CHECK: graph.matmul {{.*}} : (tensor<512x64xf16>, tensor<64x32xf16>) -> tensor<512x32xf32>

// -----

// Windows that skip pixels.
func.func @strided(%x : tensor<2x64x16x16xf16>, %w : tensor<32x64x1x1xf16>) -> tensor<2x32x8x8xf16> {
  %y = graph.conv2d %x, %w {stride = array<i64: 2, 2>} : (tensor<2x64x16x16xf16>, tensor<32x64x1x1xf16>) -> tensor<2x32x8x8xf16>
  func.return %y : tensor<2x32x8x8xf16>
}

// CHECK-LABEL: func.func @strided
// CHECK: graph.windows

// -----

// Images of few pixels share tiles, and tensor cores read f32 along K only.
func.func @small(%x : tensor<2x64x8x8xf16>, %w : tensor<32x64x1x1xf16>, %i : tensor<2x64x16x16xf32>, %v : tensor<32x64x1x1xf32>) -> (tensor<2x32x8x8xf16>, tensor<2x32x16x16xf32>) {
  %y = graph.conv2d %x, %w : (tensor<2x64x8x8xf16>, tensor<32x64x1x1xf16>) -> tensor<2x32x8x8xf16>
  %z = graph.conv2d %i, %v {precision = "tf32"} : (tensor<2x64x16x16xf32>, tensor<32x64x1x1xf32>) -> tensor<2x32x16x16xf32>
  func.return %y, %z : tensor<2x32x8x8xf16>, tensor<2x32x16x16xf32>
}

// CHECK-LABEL: func.func @small
// CHECK: graph.matmul {{.*}} : (tensor<128x64xf16>, tensor<64x32xf16>) -> tensor<128x32xf32>
// CHECK: graph.matmul {{.*}} : (tensor<512x64xf32>, tensor<64x32xf32>) -> tensor<512x32xf32>
