// RUN: hidet-opt %s -p decompose-graph | filecheck %s

// A product of halves is accumulated in f32; one of f32 stays.
func.func @matmul(%x : tensor<4x8xf16>, %w : tensor<8x2xf16>) -> tensor<4x2xf16> {
  %y = graph.matmul %x, %w : (tensor<4x8xf16>, tensor<8x2xf16>) -> tensor<4x2xf16>
  func.return %y : tensor<4x2xf16>
}

// CHECK-LABEL: func.func @matmul(%x: tensor<4x8xf16>, %w: tensor<8x2xf16>) -> tensor<4x2xf16> {
// CHECK-NEXT:    %[[V0:\d+]] = graph.matmul %x, %w : (tensor<4x8xf16>, tensor<8x2xf16>) -> tensor<4x2xf32>
// CHECK-NEXT:    %y = graph.cast %[[V0]] : (tensor<4x2xf32>) -> tensor<4x2xf16>
// CHECK-NEXT:    func.return %y : tensor<4x2xf16>

func.func @matmul_f32(%x : tensor<4x8xf32>, %w : tensor<8x2xf32>) -> tensor<4x2xf32> {
  %y = graph.matmul %x, %w {precision = "tf32"} : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  func.return %y : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @matmul_f32(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>) -> tensor<4x2xf32> {
// CHECK-NEXT:    %y = graph.matmul %x, %w {precision = "tf32"} : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT:    func.return %y : tensor<4x2xf32>

// Large operands of TF32 are packed along k: here the right one; the left one is a view that is.
func.func @packed(%x : tensor<262144xf32>, %w : tensor<512x512xf32>) -> tensor<512x512xf32> {
  %t = graph.as_strided %x {strides = array<i64: 512, 1>} : (tensor<262144xf32>) -> tensor<512x512xf32>
  %y = graph.matmul %t, %w {precision = "tf32"} : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  func.return %y : tensor<512x512xf32>
}

// CHECK-LABEL: func.func @packed
// CHECK: %[[V0:.*]] = graph.pack %w {dims = array<i64: 1, 0>}
// CHECK: %[[V1:.*]] = graph.permute %[[V0]] {dims = array<i64: 1, 0>}
// CHECK: graph.matmul %t, %[[V1]] {precision = "tf32"}

// Rows of 513 halves are not aligned to 16 bytes: a large operand is copied, under its permutation.
func.func @misaligned(%x : tensor<513x513xf16>, %w : tensor<512x512xf16>) -> (tensor<513x512xf16>, tensor<513x512xf16>) {
  %s = graph.slice %x {starts = array<i64: 0, 0>, stops = array<i64: 512, 513>, steps = array<i64: 1, 1>} : (tensor<513x513xf16>) -> tensor<512x513xf16>
  %t = graph.permute %s {dims = array<i64: 1, 0>} : (tensor<512x513xf16>) -> tensor<513x512xf16>
  %y = graph.matmul %t, %w : (tensor<513x512xf16>, tensor<512x512xf16>) -> tensor<513x512xf16>
  %z = graph.matmul %t, %w {precision = "fma"} : (tensor<513x512xf16>, tensor<512x512xf16>) -> tensor<513x512xf16>
  func.return %y, %z : tensor<513x512xf16>, tensor<513x512xf16>
}
// CHECK-LABEL: func.func @misaligned
// CHECK: %[[PAD:.*]] = graph.pad %s {low = array<i64: 0, 0>, high = array<i64: 0, 7>, value = 0.000000e+00 : f16}
// CHECK-NEXT: %[[PACK:.*]] = graph.pack %[[PAD]] {dims = array<i64: 0, 1>}
// CHECK-NEXT: %t = graph.permute %s
// CHECK-NEXT: %[[ROWS:.*]] = graph.slice %[[PACK]]
// CHECK-NEXT: %[[T:.*]] = graph.permute %[[ROWS]]
// CHECK-NEXT: graph.matmul %[[T]], %w :
// CHECK: graph.matmul %t, %w {precision = "fma"}

// Two products of one tensor, once transposed, share the copy.
func.func @misaligned_twice(%x : tensor<512x513xf16>, %w : tensor<513x512xf16>, %v : tensor<512x512xf16>) -> (tensor<512x512xf16>, tensor<513x512xf16>) {
  %t = graph.permute %x {dims = array<i64: 1, 0>} : (tensor<512x513xf16>) -> tensor<513x512xf16>
  %z = graph.matmul %t, %v : (tensor<513x512xf16>, tensor<512x512xf16>) -> tensor<513x512xf16>
  %y = graph.matmul %x, %w : (tensor<512x513xf16>, tensor<513x512xf16>) -> tensor<512x512xf16>
  func.return %y, %z : tensor<512x512xf16>, tensor<513x512xf16>
}
// CHECK-LABEL: func.func @misaligned_twice
// CHECK:      %[[PACK:.*]] = graph.pack
// CHECK-NOT:  graph.pack
// CHECK:      %[[ONE:.*]] = graph.slice %[[PACK]]
// CHECK:      %[[T:.*]] = graph.permute %[[ONE]]
// CHECK:      graph.matmul %[[T]], %v
// CHECK-NOT:  graph.pack
// CHECK:      %[[TWO:.*]] = graph.slice %[[PACK]]
// CHECK:      graph.matmul %[[TWO]], %w

// A copy that is padded at the start of its rows is another one.
func.func @padded_at_the_start(%x : tensor<512x513xf16>, %w : tensor<513x512xf16>) -> (tensor<512x512xf16>, tensor<512x520xf16>) {
  %p = graph.pad %x {low = array<i64: 0, 7>, high = array<i64: 0, 0>, value = 0.0 : f16} : (tensor<512x513xf16>) -> tensor<512x520xf16>
  %k = graph.pack %p {dims = array<i64: 0, 1>} : (tensor<512x520xf16>) -> tensor<512x520xf16>
  %y = graph.matmul %x, %w : (tensor<512x513xf16>, tensor<513x512xf16>) -> tensor<512x512xf16>
  func.return %y, %k : tensor<512x512xf16>, tensor<512x520xf16>
}
// CHECK-LABEL: func.func @padded_at_the_start
// CHECK:      %[[PAD:.*]] = graph.pad %x {low = array<i64: 0, 0>, high = array<i64: 0, 7>
// CHECK-NEXT: %[[PACK:.*]] = graph.pack %[[PAD]]
// CHECK:      %k = graph.pack %p
// CHECK:      %[[ROWS:.*]] = graph.slice %[[PACK]]
// CHECK:      graph.matmul %[[ROWS]], %w

// Sums of halves are halves where the precision says so.
func.func @sums_of_halves(%x : tensor<4x8xf16>, %w : tensor<2x8xf16>) -> tensor<4x2xf16> {
  %y = graph.linear %x, %w {precision = "f16"} : (tensor<4x8xf16>, tensor<2x8xf16>) -> tensor<4x2xf16>
  func.return %y : tensor<4x2xf16>
}

// CHECK-LABEL: func.func @sums_of_halves
// CHECK: graph.matmul %{{.*}}, %{{.*}} {precision = "f16"} : (tensor<4x8xf16>, tensor<8x2xf16>) -> tensor<4x2xf16>
// CHECK-NOT: graph.cast

// A linear layer is a product of matrices; the bias is added in f32.
func.func @linear(%x : tensor<2x3x8xf16>, %w : tensor<4x8xf16>, %b : tensor<4xf16>) -> tensor<2x3x4xf16> {
  %y = graph.linear %x, %w, %b : (tensor<2x3x8xf16>, tensor<4x8xf16>, tensor<4xf16>) -> tensor<2x3x4xf16>
  func.return %y : tensor<2x3x4xf16>
}

// CHECK-LABEL: func.func @linear(%x: tensor<2x3x8xf16>, %w: tensor<4x8xf16>, %b: tensor<4xf16>) -> tensor<2x3x4xf16> {
// CHECK-NEXT:    %[[V0:\d+]] = graph.reshape %x : (tensor<2x3x8xf16>) -> tensor<6x8xf16>
// CHECK-NEXT:    %[[V1:\d+]] = graph.permute %w {dims = array<i64: 1, 0>} : (tensor<4x8xf16>) -> tensor<8x4xf16>
// CHECK-NEXT:    %[[V2:\d+]] = graph.matmul %[[V0]], %[[V1]] : (tensor<6x8xf16>, tensor<8x4xf16>) -> tensor<6x4xf32>
// CHECK-NEXT:    %[[V3:\d+]] = graph.cast %b : (tensor<4xf16>) -> tensor<4xf32>
// CHECK-NEXT:    %[[V4:\d+]] = graph.add %[[V2]], %[[V3]] : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT:    %[[V5:\d+]] = graph.cast %[[V4]] : (tensor<6x4xf32>) -> tensor<6x4xf16>
// CHECK-NEXT:    %y = graph.reshape %[[V5]] : (tensor<6x4xf16>) -> tensor<2x3x4xf16>
// CHECK-NEXT:    func.return %y : tensor<2x3x4xf16>

// A convolution is a product of windows and filters; a bias is added behind.
func.func @conv2d(%x : tensor<1x3x8x8xf32>, %w : tensor<4x3x3x3xf32>, %b : tensor<4xf32>) -> tensor<1x4x6x6xf32> {
  %y = graph.conv2d %x, %w, %b : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x6x6xf32>
  func.return %y : tensor<1x4x6x6xf32>
}

// CHECK-LABEL: func.func @conv2d(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>) -> tensor<1x4x6x6xf32> {
// CHECK-NEXT:     %[[V0:\w+]] = graph.pad %x {low = array<i64: 0, 0, 0, 0>, high = array<i64: 0, 1, 0, 0>, value = 0.000000e+00 : f32} : (tensor<1x3x8x8xf32>) -> tensor<1x4x8x8xf32>
// CHECK-NEXT:     %[[V1:\w+]] = graph.pad %w {low = array<i64: 0, 0, 0, 0>, high = array<i64: 0, 1, 0, 0>, value = 0.000000e+00 : f32} : (tensor<4x3x3x3xf32>) -> tensor<4x4x3x3xf32>
// CHECK-NEXT:     %[[V2:\w+]] = graph.pack %[[V0]] {dims = array<i64: 0, 2, 3, 1>} : (tensor<1x4x8x8xf32>) -> tensor<1x8x8x4xf32>
// CHECK-NEXT:     %[[V3:\w+]] = graph.permute %[[V2]] {dims = array<i64: 0, 3, 1, 2>} : (tensor<1x8x8x4xf32>) -> tensor<1x4x8x8xf32>
// CHECK-NEXT:     %[[V4:\w+]] = graph.pack %[[V1]] {dims = array<i64: 2, 3, 1, 0>} : (tensor<4x4x3x3xf32>) -> tensor<3x3x4x4xf32>
// CHECK-NEXT:     %[[V5:\w+]] = graph.permute %[[V4]] {dims = array<i64: 3, 2, 0, 1>} : (tensor<3x3x4x4xf32>) -> tensor<4x4x3x3xf32>
// CHECK-NEXT:     %[[V6:\w+]] = graph.windows %[[V3]] {kernel = array<i64: 3, 3>, outside = 0.000000e+00 : f32} : (tensor<1x4x8x8xf32>) -> tensor<1x4x6x6x3x3xf32>
// CHECK-NEXT:     %[[V7:\w+]] = graph.permute %[[V6]] {dims = array<i64: 0, 2, 3, 4, 5, 1>} : (tensor<1x4x6x6x3x3xf32>) -> tensor<1x6x6x3x3x4xf32>
// CHECK-NEXT:     %[[V8:\w+]] = graph.reshape %[[V7]] : (tensor<1x6x6x3x3x4xf32>) -> tensor<36x36xf32>
// CHECK-NEXT:     %[[V9:\w+]] = graph.permute %[[V5]] {dims = array<i64: 2, 3, 1, 0>} : (tensor<4x4x3x3xf32>) -> tensor<3x3x4x4xf32>
// CHECK-NEXT:     %[[V10:\w+]] = graph.reshape %[[V9]] : (tensor<3x3x4x4xf32>) -> tensor<36x4xf32>
// CHECK-NEXT:     %[[V11:\w+]] = graph.matmul %[[V8]], %[[V10]] : (tensor<36x36xf32>, tensor<36x4xf32>) -> tensor<36x4xf32>
// CHECK-NEXT:     %[[V12:\w+]] = graph.reshape %[[V11]] : (tensor<36x4xf32>) -> tensor<1x6x6x4xf32>
// CHECK-NEXT:     %[[V13:\w+]] = graph.permute %[[V12]] {dims = array<i64: 0, 3, 1, 2>} : (tensor<1x6x6x4xf32>) -> tensor<1x4x6x6xf32>
// CHECK-NEXT:     %[[V14:\w+]] = graph.reshape %b : (tensor<4xf32>) -> tensor<4x1x1xf32>
// CHECK-NEXT:     %y = graph.add %[[V13]], %[[V14]] : (tensor<1x4x6x6xf32>, tensor<4x1x1xf32>) -> tensor<1x4x6x6xf32>
// CHECK-NEXT:     func.return %y : tensor<1x4x6x6xf32>

// Filters of 16-bit types are packed along K, but not if tiles have whole cache lines anyway.
func.func @packed_filters(%x : tensor<1x32x8x8xf16>, %w : tensor<48x32x3x3xf16>, %v : tensor<64x32x3x3xf16>) -> (tensor<1x48x6x6xf16>, tensor<1x64x6x6xf16>) {
  %y = graph.conv2d %x, %w : (tensor<1x32x8x8xf16>, tensor<48x32x3x3xf16>) -> tensor<1x48x6x6xf16>
  %z = graph.conv2d %x, %v : (tensor<1x32x8x8xf16>, tensor<64x32x3x3xf16>) -> tensor<1x64x6x6xf16>
  func.return %y, %z : tensor<1x48x6x6xf16>, tensor<1x64x6x6xf16>
}

// CHECK-LABEL: func.func @packed_filters(
// CHECK:         graph.pack %w {dims = array<i64: 0, 2, 3, 1>}
// CHECK:         graph.pack %v {dims = array<i64: 2, 3, 1, 0>}

// Groups are a batch.
func.func @grouped_conv2d(%x : tensor<1x32x8x8xf16>, %w : tensor<4x16x1x1xf16>) -> tensor<1x4x8x8xf16> {
  %y = graph.conv2d %x, %w {groups = 2 : i64} : (tensor<1x32x8x8xf16>, tensor<4x16x1x1xf16>) -> tensor<1x4x8x8xf16>
  func.return %y : tensor<1x4x8x8xf16>
}

// CHECK-LABEL: func.func @grouped_conv2d(%x: tensor<1x32x8x8xf16>, %w: tensor<4x16x1x1xf16>) -> tensor<1x4x8x8xf16> {
// CHECK-NEXT:     %[[V0:\w+]] = graph.windows %x {kernel = array<i64: 1, 1>, outside = 0.000000e+00 : f16} : (tensor<1x32x8x8xf16>) -> tensor<1x32x8x8x1x1xf16>
// CHECK-NEXT:     %[[V1:\w+]] = graph.reshape %[[V0]] : (tensor<1x32x8x8x1x1xf16>) -> tensor<1x2x16x8x8x1x1xf16>
// CHECK-NEXT:     %[[V2:\w+]] = graph.permute %[[V1]] {dims = array<i64: 1, 0, 3, 4, 5, 6, 2>} : (tensor<1x2x16x8x8x1x1xf16>) -> tensor<2x1x8x8x1x1x16xf16>
// CHECK-NEXT:     %[[V3:\w+]] = graph.reshape %[[V2]] : (tensor<2x1x8x8x1x1x16xf16>) -> tensor<2x64x16xf16>
// CHECK-NEXT:     %[[V4:\w+]] = graph.reshape %w : (tensor<4x16x1x1xf16>) -> tensor<2x2x16x1x1xf16>
// CHECK-NEXT:     %[[V5:\w+]] = graph.permute %[[V4]] {dims = array<i64: 0, 3, 4, 2, 1>} : (tensor<2x2x16x1x1xf16>) -> tensor<2x1x1x16x2xf16>
// CHECK-NEXT:     %[[V6:\w+]] = graph.reshape %[[V5]] : (tensor<2x1x1x16x2xf16>) -> tensor<2x16x2xf16>
// CHECK-NEXT:     %[[V7:\w+]] = graph.matmul %[[V3]], %[[V6]] : (tensor<2x64x16xf16>, tensor<2x16x2xf16>) -> tensor<2x64x2xf32>
// CHECK-NEXT:     %[[V8:\w+]] = graph.reshape %[[V7]] : (tensor<2x64x2xf32>) -> tensor<2x1x8x8x2xf32>
// CHECK-NEXT:     %[[V9:\w+]] = graph.permute %[[V8]] {dims = array<i64: 1, 0, 4, 2, 3>} : (tensor<2x1x8x8x2xf32>) -> tensor<1x2x2x8x8xf32>
// CHECK-NEXT:     %[[V10:\w+]] = graph.reshape %[[V9]] : (tensor<1x2x2x8x8xf32>) -> tensor<1x4x8x8xf32>
// CHECK-NEXT:     %y = graph.cast %[[V10]] : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf16>
// CHECK-NEXT:     func.return %y : tensor<1x4x8x8xf16>

// Small groups stay groups, with their channels last, also if they have several channels.
func.func @groups_of_4(%x : tensor<1x16x8x8xf16>, %w : tensor<8x4x3x3xf16>) -> tensor<1x8x6x6xf16> {
  %y = graph.conv2d %x, %w {groups = 4 : i64} : (tensor<1x16x8x8xf16>, tensor<8x4x3x3xf16>) -> tensor<1x8x6x6xf16>
  func.return %y : tensor<1x8x6x6xf16>
}

// CHECK-LABEL: func.func @groups_of_4
// CHECK:         graph.pack %x {dims = array<i64: 0, 2, 3, 1>}
// CHECK:         graph.pack %w {dims = array<i64: 2, 3, 1, 0>}
// CHECK:         %conv = graph.grouped_conv2d {{.*}} : (tensor<1x8x8x16xf16>, tensor<3x3x4x8xf16>) -> tensor<1x6x6x8xf32>

// One of a filter per channel has its channels last: an anchor without padding and bias.
func.func @depthwise_inside(%z : tensor<1x6x8x8xf16>, %w : tensor<6x1x3x3xf16>, %b : tensor<6xf16>) -> tensor<1x6x4x4xf16> {
  %x = graph.relu %z : tensor<1x6x8x8xf16>
  %y = graph.conv2d %x, %w, %b {groups = 6 : i64, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<1x6x8x8xf16>, tensor<6x1x3x3xf16>, tensor<6xf16>) -> tensor<1x6x4x4xf16>
  func.return %y : tensor<1x6x4x4xf16>
}

// CHECK-LABEL: func.func @depthwise_inside(%z: tensor<1x6x8x8xf16>, %w: tensor<6x1x3x3xf16>, %b: tensor<6xf16>) -> tensor<1x6x4x4xf16> {
// CHECK-NEXT:    %x = graph.relu %z : tensor<1x6x8x8xf16>
// CHECK-NEXT:    %[[V0:\d+]] = graph.pack %w {dims = array<i64: 2, 3, 1, 0>} : (tensor<6x1x3x3xf16>) -> tensor<3x3x1x6xf16>
// CHECK-NEXT:    %[[V1:\d+]] = graph.permute %[[V0]] {dims = array<i64: 3, 2, 0, 1>} : (tensor<3x3x1x6xf16>) -> tensor<6x1x3x3xf16>
// CHECK-NEXT:    %[[V2:\d+]] = graph.permute %x {dims = array<i64: 0, 2, 3, 1>} : (tensor<1x6x8x8xf16>) -> tensor<1x8x8x6xf16>
// CHECK-NEXT:    %[[V3:\d+]] = graph.pad %[[V2]] {low = array<i64: 0, 1, 1, 0>, high = array<i64: 0, 1, 1, 0>, value = 0.000000e+00 : f16} : (tensor<1x8x8x6xf16>) -> tensor<1x10x10x6xf16>
// CHECK-NEXT:    %[[V4:\d+]] = graph.permute %[[V1]] {dims = array<i64: 2, 3, 1, 0>} : (tensor<6x1x3x3xf16>) -> tensor<3x3x1x6xf16>
// CHECK-NEXT:    %conv = graph.grouped_conv2d %[[V3]], %[[V4]] {stride = array<i64: 2, 2>} : (tensor<1x10x10x6xf16>, tensor<3x3x1x6xf16>) -> tensor<1x4x4x6xf32>
// CHECK-NEXT:    %[[V6:\d+]] = graph.permute %conv {dims = array<i64: 0, 3, 1, 2>} : (tensor<1x4x4x6xf32>) -> tensor<1x6x4x4xf32>
// CHECK-NEXT:    %[[V7:\d+]] = graph.cast %b : (tensor<6xf16>) -> tensor<6xf32>
// CHECK-NEXT:    %[[V8:\d+]] = graph.reshape %[[V7]] : (tensor<6xf32>) -> tensor<6x1x1xf32>
// CHECK-NEXT:    %[[V9:\d+]] = graph.add %[[V6]], %[[V8]] : (tensor<1x6x4x4xf32>, tensor<6x1x1xf32>) -> tensor<1x6x4x4xf32>
// CHECK-NEXT:    %y = graph.cast %[[V9]] : (tensor<1x6x4x4xf32>) -> tensor<1x6x4x4xf16>
// CHECK-NEXT:    func.return %y : tensor<1x6x4x4xf16>

// That of an argument stays, without its bias: its channels are not last. Its filters are not packed.
func.func @depthwise(%x : tensor<1x6x8x8xf16>, %w : tensor<6x1x3x3xf16>, %b : tensor<6xf16>) -> tensor<1x6x6x6xf16> {
  %y = graph.conv2d %x, %w, %b {groups = 6 : i64} : (tensor<1x6x8x8xf16>, tensor<6x1x3x3xf16>, tensor<6xf16>) -> tensor<1x6x6x6xf16>
  func.return %y : tensor<1x6x6x6xf16>
}

// CHECK-LABEL: func.func @depthwise(%x: tensor<1x6x8x8xf16>, %w: tensor<6x1x3x3xf16>, %b: tensor<6xf16>) -> tensor<1x6x6x6xf16> {
// CHECK-NEXT:     %[[V2:\w+]] = graph.conv2d %x, %w {groups = 6 : i64} : (tensor<1x6x8x8xf16>, tensor<6x1x3x3xf16>) -> tensor<1x6x6x6xf32>
// CHECK-NEXT:     %[[V3:\w+]] = graph.cast %b : (tensor<6xf16>) -> tensor<6xf32>
// CHECK-NEXT:     %[[V4:\w+]] = graph.reshape %[[V3]] : (tensor<6xf32>) -> tensor<6x1x1xf32>
// CHECK-NEXT:     %[[V5:\w+]] = graph.add %[[V2]], %[[V4]] : (tensor<1x6x6x6xf32>, tensor<6x1x1xf32>) -> tensor<1x6x6x6xf32>
// CHECK-NEXT:     %y = graph.cast %[[V5]] : (tensor<1x6x6x6xf32>) -> tensor<1x6x6x6xf16>
// CHECK-NEXT:     func.return %y : tensor<1x6x6x6xf16>

// Of a large argument and a large filter, the channels are brought last.
func.func @depthwise_large(%x : tensor<8x64x64x64xf16>, %w : tensor<64x1x5x5xf16>) -> tensor<8x64x64x64xf16> {
  %y = graph.conv2d %x, %w {groups = 64 : i64, padding = array<i64: 2, 2>} : (tensor<8x64x64x64xf16>, tensor<64x1x5x5xf16>) -> tensor<8x64x64x64xf16>
  func.return %y : tensor<8x64x64x64xf16>
}

// CHECK-LABEL: func.func @depthwise_large
// CHECK:         graph.pack %x {dims = array<i64: 0, 2, 3, 1>} : (tensor<8x64x64x64xf16>) -> tensor<8x64x64x64xf16>
// CHECK:         %conv = graph.grouped_conv2d

// The gradient of filters of small groups is a sum of parts, which many blocks compute.
func.func @depthwise_filter(%x : tensor<8x64x32x32xf16>, %g : tensor<8x64x32x32xf16>) -> tensor<64x1x3x3xf16> {
  %y = graph.conv2d_filter_gradient %x, %g {kernel = array<i64: 3, 3>, padding = array<i64: 1, 1>, groups = 64 : i64} : (tensor<8x64x32x32xf16>, tensor<8x64x32x32xf16>) -> tensor<64x1x3x3xf16>
  func.return %y : tensor<64x1x3x3xf16>
}

// CHECK-LABEL: func.func @depthwise_filter
// CHECK:         %parts = graph.grouped_filter_gradient {{.*}}parts = 64 : i64{{.*}} : (tensor<8x34x34x64xf16>, tensor<8x32x32x64xf16>) -> tensor<64x3x3x1x64xf32>
// CHECK-NEXT:    %[[S:\w+]] = graph.sum %parts {axes = array<i64: 0>} : (tensor<64x3x3x1x64xf32>)
// CHECK-NEXT:    %[[T:\w+]] = graph.permute %[[S]] {dims = array<i64: 3, 2, 0, 1>}
// CHECK-NEXT:    graph.cast %[[T]]

// That of other filters is a matmul over all pixels, for each group; no operand is copied.
func.func @filter(%x : tensor<8x64x32x32xf16>, %g : tensor<8x32x16x16xf16>) -> tensor<32x32x3x3xf16> {
  %y = graph.conv2d_filter_gradient %x, %g {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, groups = 2 : i64} : (tensor<8x64x32x32xf16>, tensor<8x32x16x16xf16>) -> tensor<32x32x3x3xf16>
  func.return %y : tensor<32x32x3x3xf16>
}

// CHECK-LABEL: func.func @filter
// CHECK-NOT:     graph.pack
// CHECK:         %gradient = graph.matmul {{.*}} : (tensor<2x16x2048xf16>, tensor<2x2048x288xf16>) -> tensor<2x16x288xf32>
// CHECK-NOT:     graph.pack

// Windows of depthwise filters that are too large for registers are read by matmuls, too.
func.func @long_filter(%x : tensor<8x64x1x512xf16>, %g : tensor<8x64x1x257xf16>) -> tensor<64x1x1x256xf16> {
  %y = graph.conv2d_filter_gradient %x, %g {kernel = array<i64: 1, 256>, groups = 64 : i64} : (tensor<8x64x1x512xf16>, tensor<8x64x1x257xf16>) -> tensor<64x1x1x256xf16>
  func.return %y : tensor<64x1x1x256xf16>
}

// CHECK-LABEL: func.func @long_filter
// CHECK:         graph.matmul {{.*}} : (tensor<64x1x2056xf16>, tensor<64x2056x256xf16>) -> tensor<64x1x256xf32>

// TF32 tensor cores need operands that are contiguous along the pixels.
func.func @filter_tf32(%x : tensor<8x64x32x32xf32>, %g : tensor<8x32x32x32xf32>) -> tensor<32x64x1x1xf32> {
  %y = graph.conv2d_filter_gradient %x, %g {kernel = array<i64: 1, 1>, precision = "tf32"} : (tensor<8x64x32x32xf32>, tensor<8x32x32x32xf32>) -> tensor<32x64x1x1xf32>
  func.return %y : tensor<32x64x1x1xf32>
}

// CHECK-LABEL: func.func @filter_tf32
// CHECK:         graph.pack %x {dims = array<i64: 1, 2, 3, 0>}
// CHECK:         graph.pack %g {dims = array<i64: 1, 2, 3, 0>}
// CHECK:         graph.matmul {{.*}}precision = "tf32"

// A product that is transposed, after a scale, is computed transposed.
func.func @read_transposed(%q : tensor<6x32x49xf16>, %s : tensor<6x49x49xf16>) -> tensor<2x3x49x32xf32> {
  %0 = graph.matmul %q, %s : (tensor<6x32x49xf16>, tensor<6x49x49xf16>) -> tensor<6x32x49xf16>
  %1 = graph.cast %0 : (tensor<6x32x49xf16>) -> tensor<6x32x49xf32>
  %2 = graph.reshape %1 : (tensor<6x32x49xf32>) -> tensor<2x3x32x49xf32>
  %3 = graph.fill 0.5 : f32 : tensor<f32>
  %4 = graph.mul %2, %3 : (tensor<2x3x32x49xf32>, tensor<f32>) -> tensor<2x3x32x49xf32>
  %5 = graph.permute %4 {dims = array<i64: 0, 1, 3, 2>} : (tensor<2x3x32x49xf32>) -> tensor<2x3x49x32xf32>
  func.return %5 : tensor<2x3x49x32xf32>
}

// CHECK-LABEL: func.func @read_transposed
// CHECK:         graph.matmul {{.*}} : (tensor<6x49x49xf16>, tensor<6x49x32xf16>) -> tensor<6x49x32xf32>

// One that something else reads, too, is not.
func.func @read_both_ways(%q : tensor<6x32x49xf16>, %s : tensor<6x49x49xf16>) -> (tensor<6x49x32xf16>, tensor<6x32x49xf16>) {
  %0 = graph.matmul %q, %s : (tensor<6x32x49xf16>, tensor<6x49x49xf16>) -> tensor<6x32x49xf16>
  %1 = graph.permute %0 {dims = array<i64: 0, 2, 1>} : (tensor<6x32x49xf16>) -> tensor<6x49x32xf16>
  %2 = graph.relu %0 : tensor<6x32x49xf16>
  func.return %1, %2 : tensor<6x49x32xf16>, tensor<6x32x49xf16>
}

// CHECK-LABEL: func.func @read_both_ways
// CHECK:         graph.matmul %q, %s : (tensor<6x32x49xf16>, tensor<6x49x49xf16>) -> tensor<6x32x49xf32>

// Attention falls into products around a softmax, which stays one if its rows are short.
func.func @attention(%q : tensor<2x4x16xf32>) -> tensor<2x4x16xf32> {
  %y = graph.scaled_dot_product_attention %q, %q, %q {causal = true} : (tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  func.return %y : tensor<2x4x16xf32>
}

// CHECK-LABEL: func.func @attention(%q: tensor<2x4x16xf32>) -> tensor<2x4x16xf32> {
// CHECK-NEXT:    %[[V0:\d+]] = graph.permute %q {dims = array<i64: 0, 2, 1>} : (tensor<2x4x16xf32>) -> tensor<2x16x4xf32>
// CHECK-NEXT:    %[[V1:\d+]] = graph.matmul %q, %[[V0]] : (tensor<2x4x16xf32>, tensor<2x16x4xf32>) -> tensor<2x4x4xf32>
// CHECK-NEXT:    %[[V2:\d+]] = graph.fill 2.500000e-01 : f32 : tensor<f32>
// CHECK-NEXT:    %[[V3:\d+]] = graph.mul %[[V1]], %[[V2]] : (tensor<2x4x4xf32>, tensor<f32>) -> tensor<2x4x4xf32>
// CHECK-NEXT:    %[[V4:\d+]] = graph.iota {start = 0 : i64, step = 1 : i64} : tensor<4xi64>
// CHECK-NEXT:    %[[V5:\d+]] = graph.iota {start = 0 : i64, step = 1 : i64} : tensor<4x1xi64>
// CHECK-NEXT:    %[[V6:\d+]] = graph.le %[[V4]], %[[V5]] : (tensor<4xi64>, tensor<4x1xi64>) -> tensor<4x4xi1>
// CHECK-NEXT:    %[[V7:\d+]] = graph.fill 0xff800000 : f32 : tensor<f32>
// CHECK-NEXT:    %[[V8:\d+]] = graph.where %[[V6]], %[[V3]], %[[V7]] : (tensor<4x4xi1>, tensor<2x4x4xf32>, tensor<f32>) -> tensor<2x4x4xf32>
// CHECK-NEXT:    %[[V13:\d+]] = graph.softmax %[[V8]] {axis = 2 : i64} : tensor<2x4x4xf32>
// CHECK-NEXT:    %y = graph.matmul %[[V13]], %q : (tensor<2x4x4xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
// CHECK-NEXT:    func.return %y : tensor<2x4x16xf32>

// One kernel computes that of halves, unless tensor cores may not multiply.
func.func @attention_of_halves(%q : tensor<2x4x16xf16>) -> tensor<2x4x16xf16> {
  %y = graph.scaled_dot_product_attention %q, %q, %q : (tensor<2x4x16xf16>, tensor<2x4x16xf16>, tensor<2x4x16xf16>) -> tensor<2x4x16xf16>
  %z = graph.scaled_dot_product_attention %y, %q, %q {precision = "fma"} : (tensor<2x4x16xf16>, tensor<2x4x16xf16>, tensor<2x4x16xf16>) -> tensor<2x4x16xf16>
  func.return %z : tensor<2x4x16xf16>
}

// CHECK-LABEL: func.func @attention_of_halves
// CHECK-NEXT: graph.scaled_dot_product_attention
// CHECK-NOT: graph.scaled_dot_product_attention
// CHECK: graph.matmul %{{.*}}, %{{.*}} {precision = "fma"}
// CHECK: graph.matmul %{{.*}}, %{{.*}} {precision = "fma"}

// A query that may attend to nothing gets zeros.
func.func @masked_attention(%q : tensor<2x4x16xf32>, %m : tensor<4x4xi1>) -> tensor<2x4x16xf32> {
  %y = graph.scaled_dot_product_attention %q, %q, %q, %m {scale = 0.5 : f64} : (tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<4x4xi1>) -> tensor<2x4x16xf32>
  func.return %y : tensor<2x4x16xf32>
}

// CHECK-LABEL: func.func @masked_attention(%q: tensor<2x4x16xf32>, %m: tensor<4x4xi1>) -> tensor<2x4x16xf32> {
// CHECK-NEXT:    %[[V0:\d+]] = graph.permute %q {dims = array<i64: 0, 2, 1>} : (tensor<2x4x16xf32>) -> tensor<2x16x4xf32>
// CHECK-NEXT:    %[[V1:\d+]] = graph.matmul %q, %[[V0]] : (tensor<2x4x16xf32>, tensor<2x16x4xf32>) -> tensor<2x4x4xf32>
// CHECK-NEXT:    %[[V2:\d+]] = graph.fill 5.000000e-01 : f32 : tensor<f32>
// CHECK-NEXT:    %[[V3:\d+]] = graph.mul %[[V1]], %[[V2]] : (tensor<2x4x4xf32>, tensor<f32>) -> tensor<2x4x4xf32>
// CHECK-NEXT:    %[[V4:\d+]] = graph.fill 0xff800000 : f32 : tensor<f32>
// CHECK-NEXT:    %[[V5:\d+]] = graph.where %m, %[[V3]], %[[V4]] : (tensor<4x4xi1>, tensor<2x4x4xf32>, tensor<f32>) -> tensor<2x4x4xf32>
// CHECK-NEXT:    %[[V6:\d+]] = graph.max %[[V5]] {axes = array<i64: 2>, keepdims = true} : (tensor<2x4x4xf32>) -> tensor<2x4x1xf32>
// CHECK-NEXT:    %[[V13:\d+]] = graph.softmax %[[V5]] {axis = 2 : i64} : tensor<2x4x4xf32>
// CHECK-NEXT:    %[[V7:\d+]] = graph.fill 0xff800000 : f32 : tensor<f32>
// CHECK-NEXT:    %[[V8:\d+]] = graph.eq %[[V6]], %[[V7]] : (tensor<2x4x1xf32>, tensor<f32>) -> tensor<2x4x1xi1>
// CHECK-NEXT:    %[[V14:\d+]] = graph.fill 0.000000e+00 : f32 : tensor<f32>
// CHECK-NEXT:    %[[V15:\d+]] = graph.where %[[V8]], %[[V14]], %[[V13]] : (tensor<2x4x1xi1>, tensor<f32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
// CHECK-NEXT:    %y = graph.matmul %[[V15]], %q : (tensor<2x4x4xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
// CHECK-NEXT:    func.return %y : tensor<2x4x16xf32>

// What gradients of attention are computed from stays one operator each, too, unless tensor cores may
// not multiply: then scores and weights are computed in each.
func.func @gradients(%q : tensor<2x4x16xf16>, %s : tensor<2x4x1xf32>) -> (tensor<2x4x1xf32>, tensor<2x4x16xf16>, tensor<2x2x4x16xf16>, tensor<2x4x16xf16>) {
  %l = graph.attention_logsumexp %q, %q : (tensor<2x4x16xf16>, tensor<2x4x16xf16>) -> tensor<2x4x1xf32>
  %a = graph.attention_query_gradient %q, %q, %q, %q, %l, %s : (tensor<2x4x16xf16>, tensor<2x4x16xf16>, tensor<2x4x16xf16>, tensor<2x4x16xf16>, tensor<2x4x1xf32>, tensor<2x4x1xf32>) -> tensor<2x4x16xf16>
  %b = graph.attention_key_value_gradients %q, %q, %q, %q, %l, %s : (tensor<2x4x16xf16>, tensor<2x4x16xf16>, tensor<2x4x16xf16>, tensor<2x4x16xf16>, tensor<2x4x1xf32>, tensor<2x4x1xf32>) -> tensor<2x2x4x16xf16>
  %c = graph.attention_query_gradient %q, %q, %q, %q, %l, %s {scale = 0.5 : f64, precision = "fma"} : (tensor<2x4x16xf16>, tensor<2x4x16xf16>, tensor<2x4x16xf16>, tensor<2x4x16xf16>, tensor<2x4x1xf32>, tensor<2x4x1xf32>) -> tensor<2x4x16xf16>
  func.return %l, %a, %b, %c : tensor<2x4x1xf32>, tensor<2x4x16xf16>, tensor<2x2x4x16xf16>, tensor<2x4x16xf16>
}

// CHECK-LABEL: func.func @gradients
// CHECK-NEXT:    %l = graph.attention_logsumexp
// CHECK-NEXT:    %a = graph.attention_query_gradient
// CHECK-NEXT:    %b = graph.attention_key_value_gradients
// CHECK-NOT:     graph.attention
// CHECK:         %[[SCORES:\d+]] = graph.matmul %q, %{{\d+}} {precision = "fma"} : (tensor<2x4x16xf16>, tensor<2x16x4xf16>) -> tensor<2x4x4xf32>
// CHECK-NEXT:    %[[SCALE:\d+]] = graph.fill 5.000000e-01 : f32
// CHECK-NEXT:    %[[SCALED:\d+]] = graph.mul %[[SCORES]], %[[SCALE]]
// CHECK-NEXT:    %[[PAST:\d+]] = graph.sub %[[SCALED]], %l
// CHECK-NEXT:    %[[EXP:\d+]] = graph.exp %[[PAST]]
// CHECK:         %[[WEIGHTS:\d+]] = graph.where %{{\d+}}, %{{\d+}}, %[[EXP]]
// CHECK:         %[[PRODUCTS:\d+]] = graph.matmul %q, %{{\d+}} {precision = "fma"} : (tensor<2x4x16xf16>, tensor<2x16x4xf16>) -> tensor<2x4x4xf32>
// CHECK-NEXT:    %[[OVER:\d+]] = graph.sub %[[PRODUCTS]], %s
// CHECK-NEXT:    %[[SLOPES:\d+]] = graph.mul %[[WEIGHTS]], %[[OVER]]
// CHECK:         graph.cast
// CHECK:         graph.matmul %{{\d+}}, %q {precision = "fma"} : (tensor<2x4x4xf16>, tensor<2x4x16xf16>) -> tensor<2x4x16xf32>

// A softmax of halves is computed in f32, which has bits to spare for a reciprocal.
func.func @softmax(%x : tensor<4x64xf16>) -> tensor<4x64xf16> {
  %y = graph.softmax %x {axis = 1 : i64} : tensor<4x64xf16>
  func.return %y : tensor<4x64xf16>
}

// CHECK-LABEL: func.func @softmax(%x: tensor<4x64xf16>) -> tensor<4x64xf16> {
// CHECK-NEXT:    %[[V0:\d+]] = graph.cast %x : (tensor<4x64xf16>) -> tensor<4x64xf32>
// CHECK-NEXT:    %[[V1:\d+]] = graph.max %[[V0]] {axes = array<i64: 1>, keepdims = true} : (tensor<4x64xf32>) -> tensor<4x1xf32>
// CHECK-NEXT:    %[[V2:\d+]] = graph.sub %[[V0]], %[[V1]] : (tensor<4x64xf32>, tensor<4x1xf32>) -> tensor<4x64xf32>
// CHECK-NEXT:    %[[V3:\d+]] = graph.exp %[[V2]] : tensor<4x64xf32>
// CHECK-NEXT:    %[[V4:\d+]] = graph.sum %[[V3]] {axes = array<i64: 1>, keepdims = true} : (tensor<4x64xf32>) -> tensor<4x1xf32>
// CHECK-NEXT:    %[[V5:\d+]] = graph.reciprocal %[[V4]] : tensor<4x1xf32>
// CHECK-NEXT:    %[[V6:\d+]] = graph.mul %[[V3]], %[[V5]] : (tensor<4x64xf32>, tensor<4x1xf32>) -> tensor<4x64xf32>
// CHECK-NEXT:    %y = graph.cast %[[V6]] : (tensor<4x64xf32>) -> tensor<4x64xf16>
// CHECK-NEXT:    func.return %y : tensor<4x64xf16>

// A norm is means and arithmetic.
func.func @layer_norm(%x : tensor<4x64xf32>) -> tensor<4x64xf32> {
  %y = graph.layer_norm %x : tensor<4x64xf32>
  func.return %y : tensor<4x64xf32>
}

// CHECK-LABEL: func.func @layer_norm(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
// CHECK-NEXT:    %[[V0:\d+]] = graph.mean %x {axes = array<i64: 1>, keepdims = true} : (tensor<4x64xf32>) -> tensor<4x1xf32>
// CHECK-NEXT:    %[[V1:\d+]] = graph.sub %x, %[[V0]] : (tensor<4x64xf32>, tensor<4x1xf32>) -> tensor<4x64xf32>
// CHECK-NEXT:    %[[V2:\d+]] = graph.mul %[[V1]], %[[V1]] : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
// CHECK-NEXT:    %[[V3:\d+]] = graph.mean %[[V2]] {axes = array<i64: 1>, keepdims = true} : (tensor<4x64xf32>) -> tensor<4x1xf32>
// CHECK-NEXT:    %[[V4:\d+]] = graph.fill 1.000000e-05 : f32 : tensor<f32>
// CHECK-NEXT:    %[[V5:\d+]] = graph.add %[[V3]], %[[V4]] : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
// CHECK-NEXT:    %[[V6:\d+]] = graph.rsqrt %[[V5]] : tensor<4x1xf32>
// CHECK-NEXT:    %y = graph.mul %[[V1]], %[[V6]] : (tensor<4x64xf32>, tensor<4x1xf32>) -> tensor<4x64xf32>
// CHECK-NEXT:    func.return %y : tensor<4x64xf32>

// Images are packed if they are views of an argument, unless its last dimension is the channels.
func.func @views(%x : tensor<1x4x6x6xf32>, %z : tensor<1x8x8x4xf32>, %w : tensor<5x4x3x3xf32>) -> (tensor<1x5x6x6xf32>, tensor<1x5x6x6xf32>) {
  %p = graph.pad %x {low = array<i64: 0, 0, 1, 1>, high = array<i64: 0, 0, 1, 1>, value = 0.0 : f32} : (tensor<1x4x6x6xf32>) -> tensor<1x4x8x8xf32>
  %y = graph.conv2d %p, %w : (tensor<1x4x8x8xf32>, tensor<5x4x3x3xf32>) -> tensor<1x5x6x6xf32>
  %c = graph.permute %z {dims = array<i64: 0, 3, 1, 2>} : (tensor<1x8x8x4xf32>) -> tensor<1x4x8x8xf32>
  %v = graph.conv2d %c, %w : (tensor<1x4x8x8xf32>, tensor<5x4x3x3xf32>) -> tensor<1x5x6x6xf32>
  func.return %y, %v : tensor<1x5x6x6xf32>, tensor<1x5x6x6xf32>
}

// CHECK-LABEL: func.func @views(
// CHECK:         graph.pack %p {dims = array<i64: 0, 2, 3, 1>}
// CHECK-NOT:     graph.pack %c
// CHECK:         graph.windows %c
// CHECK:         func.return

// A norm of large groups of channels that a convolution has computed reduces runs of pixels, stored
// channels last, and then groups of them. One of other rows does not.
func.func @group_norm(%x : tensor<2x8x128x96xf32>, %w : tensor<12x8x1x1xf32>) -> (tensor<2x12x128x96xf32>, tensor<2x4x24576xf32>) {
  %y = graph.conv2d %x, %w : (tensor<2x8x128x96xf32>, tensor<12x8x1x1xf32>) -> tensor<2x12x128x96xf32>
  %r = graph.reshape %y : (tensor<2x12x128x96xf32>) -> tensor<2x3x49152xf32>
  %n = graph.layer_norm %r : tensor<2x3x49152xf32>
  %z = graph.reshape %n : (tensor<2x3x49152xf32>) -> tensor<2x12x128x96xf32>
  %i = graph.reshape %x : (tensor<2x8x128x96xf32>) -> tensor<2x4x24576xf32>
  %m = graph.layer_norm %i : tensor<2x4x24576xf32>
  func.return %z, %m : tensor<2x12x128x96xf32>, tensor<2x4x24576xf32>
}

// CHECK-LABEL: func.func @group_norm(
// CHECK:         %[[RUNS:\d+]] = graph.permute %{{.*}} {dims = array<i64: 0, 2, 3, 1>} : (tensor<2x12x768x16xf32>) -> tensor<2x768x16x12xf32>
// CHECK-NEXT:    %[[FIRST:\d+]] = graph.slice %[[RUNS]] {{.*}} -> tensor<2x768x1x12xf32>
// CHECK-NEXT:    %[[D:\d+]] = graph.sub %[[RUNS]], %[[FIRST]]
// CHECK-NEXT:    %[[SHIFT:\d+]] = graph.mean %[[D]] {axes = array<i64: 2>, keepdims = true}
// CHECK:         %[[MEAN:\d+]] = graph.add %[[FIRST]], %[[SHIFT]]
// CHECK-NEXT:    %[[SQUARE:\d+]] = graph.mul
// CHECK:         %[[VARIANCE:\d+]] = graph.sub %{{.*}}, %[[SQUARE]]
// CHECK-NEXT:    %[[BOTH:\d+]] = graph.concat %[[MEAN]], %[[VARIANCE]] {axis = 2 : i64}
// CHECK-NEXT:    %[[STORED:\d+]] = graph.pack %[[BOTH]] {dims = array<i64: 0, 1, 2, 3>}
// CHECK-NEXT:    %[[M:\d+]] = graph.slice %[[STORED]] {starts = array<i64: 0, 0, 0, 0>
// CHECK:         %[[V:\d+]] = graph.slice %[[STORED]] {starts = array<i64: 0, 0, 1, 0>
// CHECK:         graph.mean %{{.*}} {axes = array<i64: 2, 3>, keepdims = true} : (tensor<2x3x768x4xf32>) -> tensor<2x3x1x1xf32>
// CHECK-NEXT:    graph.sub
// CHECK-NEXT:    graph.mul
// CHECK-NEXT:    graph.mean %{{.*}} {axes = array<i64: 2, 3>, keepdims = true} : (tensor<2x3x768x4xf32>) -> tensor<2x3x1x1xf32>
// CHECK-NEXT:    graph.mean %{{.*}} {axes = array<i64: 2, 3>, keepdims = true} : (tensor<2x3x768x4xf32>) -> tensor<2x3x1x1xf32>
// CHECK-NEXT:    graph.add
// CHECK:         graph.rsqrt
// CHECK:         graph.sub %y, %{{.*}} : (tensor<2x12x128x96xf32>, tensor<2x12x1x1xf32>) -> tensor<2x12x128x96xf32>
// CHECK:         graph.mean %i {axes = array<i64: 2>, keepdims = true} : (tensor<2x4x24576xf32>) -> tensor<2x4x1xf32>

// Small groups are reduced in one kernel, whose results are stored.
func.func @small_groups(%x : tensor<2x8x6x6xf32>, %w : tensor<12x8x1x1xf32>) -> tensor<2x12x6x6xf32> {
  %y = graph.conv2d %x, %w : (tensor<2x8x6x6xf32>, tensor<12x8x1x1xf32>) -> tensor<2x12x6x6xf32>
  %r = graph.reshape %y : (tensor<2x12x6x6xf32>) -> tensor<2x3x144xf32>
  %n = graph.layer_norm %r : tensor<2x3x144xf32>
  %z = graph.reshape %n : (tensor<2x3x144xf32>) -> tensor<2x12x6x6xf32>
  func.return %z : tensor<2x12x6x6xf32>
}

// CHECK-LABEL: func.func @small_groups(
// CHECK:         %[[PIXELS:\d+]] = graph.permute %{{.*}} {dims = array<i64: 0, 1, 3, 2>} : (tensor<2x3x4x36xf32>) -> tensor<2x3x36x4xf32>
// CHECK-NEXT:    %[[MEAN:\d+]] = graph.mean %[[PIXELS]] {axes = array<i64: 2, 3>, keepdims = true}
// CHECK-NEXT:    graph.sub %[[PIXELS]], %[[MEAN]]
// CHECK:         %[[R:\d+]] = graph.rsqrt
// CHECK:         graph.pack %[[MEAN]] {dims = array<i64: 0, 1, 2, 3>}
// CHECK:         graph.pack %[[R]] {dims = array<i64: 0, 1, 2, 3>}
// CHECK:         graph.sub %y, %{{.*}} : (tensor<2x12x6x6xf32>, tensor<2x12x1x1xf32>) -> tensor<2x12x6x6xf32>

// Small constant exponents need no logarithm; others stay.
func.func @pow(%x : tensor<4xf16>, %y : tensor<4xf16>) -> (tensor<4xf16>, tensor<4xf16>) {
  %two = graph.fill 2.0 : f16 : tensor<f16>
  %a = graph.pow %x, %two : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  %b = graph.pow %x, %y : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  func.return %a, %b : tensor<4xf16>, tensor<4xf16>
}

// A number takes the root, which is NaN of -inf; a tensor of that number does not, as in torch.
func.func @root(%x : tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %half = graph.fill 0.5 : f32 : tensor<f32>
  %halves = graph.fill 0.5 : f32 : tensor<4xf32>
  %a = graph.pow %x, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = graph.pow %x, %halves : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @pow(%x: tensor<4xf16>, %y: tensor<4xf16>) -> (tensor<4xf16>, tensor<4xf16>) {
// CHECK-NEXT:    %two = graph.fill 2.000000e+00 : f16 : tensor<f16>
// CHECK-NEXT:    %[[V0:\d+]] = graph.cast %x : (tensor<4xf16>) -> tensor<4xf32>
// CHECK-NEXT:    %[[V1:\d+]] = graph.mul %[[V0]], %[[V0]] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    %a = graph.cast %[[V1]] : (tensor<4xf32>) -> tensor<4xf16>
// CHECK-NEXT:    %b = graph.pow %x, %y : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
// CHECK-NEXT:    func.return %a, %b : tensor<4xf16>, tensor<4xf16>

// CHECK-LABEL: func.func @root(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:    %half = graph.fill 5.000000e-01 : f32 : tensor<f32>
// CHECK-NEXT:    %halves = graph.fill 5.000000e-01 : f32 : tensor<4xf32>
// CHECK-NEXT:    %a = graph.sqrt %x : tensor<4xf32>
// CHECK-NEXT:    %b = graph.pow %x, %halves : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    func.return %a, %b : tensor<4xf32>, tensor<4xf32>

// Large images of many channels are reduced in parts, smaller ones are not.
func.func @image(%x : tensor<1x32x112x112xf32>, %z : tensor<1x96x56x56xf32>) -> (tensor<1x32xf32>, tensor<1x96xf32>) {
  %y = graph.mean %x {axes = array<i64: 2, 3>} : (tensor<1x32x112x112xf32>) -> tensor<1x32xf32>
  %s = graph.mean %z {axes = array<i64: 2, 3>} : (tensor<1x96x56x56xf32>) -> tensor<1x96xf32>
  func.return %y, %s : tensor<1x32xf32>, tensor<1x96xf32>
}

// CHECK-LABEL: func.func @image(
// CHECK-NEXT:    %0 = graph.reshape %x : (tensor<1x32x112x112xf32>) -> tensor<1x32x112x1x112xf32>
// CHECK-NEXT:    %1 = graph.mean %0 {axes = array<i64: 3, 4>} : (tensor<1x32x112x1x112xf32>) -> tensor<1x32x112xf32>
// CHECK-NEXT:    %y = graph.mean %1 {axes = array<i64: 2>} : (tensor<1x32x112xf32>) -> tensor<1x32xf32>
// CHECK-NEXT:    %s = graph.mean %z {axes = array<i64: 2, 3>} : (tensor<1x96x56x56xf32>) -> tensor<1x96xf32>

// A few long rows are reduced in parts, which are cast in the end; many rows, or short ones, are not.
func.func @long(%x : tensor<65536x64xf16>, %y : tensor<512x64xf16>) -> (tensor<1x64xf16>, tensor<64xf16>) {
  %a = graph.sum %x {axes = array<i64: 0>, keepdims = true} : (tensor<65536x64xf16>) -> tensor<1x64xf16>
  %b = graph.sum %y {axes = array<i64: 0>} : (tensor<512x64xf16>) -> tensor<64xf16>
  func.return %a, %b : tensor<1x64xf16>, tensor<64xf16>
}

// CHECK-LABEL: func.func @long(
// CHECK-NEXT:    %0 = graph.cast %x : (tensor<65536x64xf16>) -> tensor<65536x64xf32>
// CHECK-NEXT:    %1 = graph.reshape %0 : (tensor<65536x64xf32>) -> tensor<256x256x64xf32>
// CHECK-NEXT:    %2 = graph.sum %1 {axes = array<i64: 1>} : (tensor<256x256x64xf32>) -> tensor<256x64xf32>
// CHECK-NEXT:    %3 = graph.sum %2 {axes = array<i64: 0>} : (tensor<256x64xf32>) -> tensor<64xf32>
// CHECK-NEXT:    %4 = graph.cast %3 : (tensor<64xf32>) -> tensor<64xf16>
// CHECK-NEXT:    %a = graph.reshape %4 : (tensor<64xf16>) -> tensor<1x64xf16>
// CHECK-NEXT:    %b = graph.sum %y {axes = array<i64: 0>} : (tensor<512x64xf16>) -> tensor<64xf16>

// So is the variance of long rows: it is that of the parts and of their means, as is a mean before it.
// Stored elements are loaded once: both moments of a part are from distances to its first element.
func.func @variance(%x : tensor<64x2x2048xf16>, %y : tensor<2x1024xf32>) -> (tensor<2xf16>, tensor<2xf16>, tensor<2xf32>) {
  %m = graph.mean %x {axes = array<i64: 0, 2>} : (tensor<64x2x2048xf16>) -> tensor<2xf16>
  %a = graph.var %x {axes = array<i64: 0, 2>} : (tensor<64x2x2048xf16>) -> tensor<2xf16>
  %b = graph.var %y {axes = array<i64: 1>} : (tensor<2x1024xf32>) -> tensor<2xf32>
  func.return %m, %a, %b : tensor<2xf16>, tensor<2xf16>, tensor<2xf32>
}

// CHECK-LABEL: func.func @variance(
// CHECK:         %[[RUNS:\d+]] = graph.reshape %{{.*}} -> tensor<64x1x2x2048xf32>
// CHECK:         %[[FIRST:\d+]] = graph.slice %{{.*}} -> tensor<64x1x2x1xf32>
// CHECK-NEXT:    %[[D:\d+]] = graph.sub %[[RUNS]], %[[FIRST]]
// CHECK-NEXT:    %[[SHIFT:\d+]] = graph.mean %[[D]] {axes = array<i64: 1, 3>, keepdims = true}
// CHECK-NEXT:    %[[D2:\d+]] = graph.mul %[[D]], %[[D]]
// CHECK-NEXT:    %[[SQUARES:\d+]] = graph.mean %[[D2]] {axes = array<i64: 1, 3>, keepdims = true}
// CHECK-NEXT:    %[[SHIFT2:\d+]] = graph.mul %[[SHIFT]], %[[SHIFT]]
// CHECK-NEXT:    %[[VARS:\d+]] = graph.sub %[[SQUARES]], %[[SHIFT2]]
// CHECK-NEXT:    %[[MEANS:\d+]] = graph.add %[[FIRST]], %[[SHIFT]]
// CHECK-NEXT:    %[[MEANS_OF_ROW:\d+]] = graph.permute %[[MEANS]] {{.*}} -> tensor<2x64x1x1xf32>
// CHECK-NEXT:    %[[VARS_OF_ROW:\d+]] = graph.permute %[[VARS]] {{.*}} -> tensor<2x64x1x1xf32>
// CHECK-NEXT:    %[[MEAN:\d+]] = graph.mean %[[MEANS_OF_ROW]] {axes = array<i64: 1>, keepdims = true}
// CHECK-NEXT:    %[[BETWEEN:\d+]] = graph.sub %[[MEANS_OF_ROW]], %[[MEAN]]
// CHECK-NEXT:    graph.mul %[[BETWEEN]], %[[BETWEEN]]
// CHECK:         graph.mean %[[VARS_OF_ROW]]
// CHECK:         %[[KEPT:\d+]] = graph.reshape %[[MEAN]]
// CHECK:         %[[M:\d+]] = graph.cast %[[KEPT]]
// CHECK:         %m = graph.reshape %[[M]]
// CHECK:         %b = graph.var %y

// Elements that the same kernel computes are not, since a thread has its own alone.
func.func @computed_variance(%x : tensor<64x2x2048xf32>) -> (tensor<64x2x2048xf32>, tensor<2xf32>) {
  %e = graph.exp %x : tensor<64x2x2048xf32>
  %v = graph.var %e {axes = array<i64: 0, 2>} : (tensor<64x2x2048xf32>) -> tensor<2xf32>
  func.return %e, %v : tensor<64x2x2048xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @computed_variance(
// CHECK:         graph.var %{{.*}} {correction = 0 : i64, axes = array<i64: 1, 3>, keepdims = true} : (tensor<64x1x2x2048xf32>)

// Channels of images that a convolution computes are adjacent in memory: their moments are stored, so
// that what reads them keeps channels last, and computed in parts from 1024 pixels on.
func.func @channels(%x : tensor<1x8x16x16xf32>, %w : tensor<32x8x1x1xf32>) -> (tensor<1x32x1x1xf32>, tensor<1x32x1x1xf32>) {
  %c = graph.conv2d %x, %w : (tensor<1x8x16x16xf32>, tensor<32x8x1x1xf32>) -> tensor<1x32x16x16xf32>
  %m = graph.mean %c {axes = array<i64: 0, 2, 3>, keepdims = true} : (tensor<1x32x16x16xf32>) -> tensor<1x32x1x1xf32>
  %v = graph.var %c {correction = 0 : i64, axes = array<i64: 0, 2, 3>, keepdims = true} : (tensor<1x32x16x16xf32>) -> tensor<1x32x1x1xf32>
  func.return %m, %v : tensor<1x32x1x1xf32>, tensor<1x32x1x1xf32>
}

// CHECK-LABEL: func.func @channels(
// CHECK:         %[[MEAN:\d+]] = graph.mean %[[C:.*]] {axes = array<i64: 0, 2, 3>, keepdims = true}
// CHECK-NEXT:    %[[VAR:\d+]] = graph.var %[[C]] {correction = 0 : i64, axes = array<i64: 0, 2, 3>, keepdims = true}
// CHECK-NEXT:    %m = graph.pack %[[MEAN]]
// CHECK-NEXT:    graph.pack %[[VAR]]

func.func @many_pixels(%x : tensor<1x8x64x64xf32>, %w : tensor<32x8x1x1xf32>) -> tensor<1x32x1x1xf32> {
  %c = graph.conv2d %x, %w : (tensor<1x8x64x64xf32>, tensor<32x8x1x1xf32>) -> tensor<1x32x64x64xf32>
  %v = graph.var %c {correction = 0 : i64, axes = array<i64: 0, 2, 3>, keepdims = true} : (tensor<1x32x64x64xf32>) -> tensor<1x32x1x1xf32>
  func.return %v : tensor<1x32x1x1xf32>
}

// CHECK-LABEL: func.func @many_pixels(
// CHECK:         %[[FIRST:\d+]] = graph.slice %{{.*}} -> tensor<128x1x32xf32>
// CHECK-NEXT:    graph.sub %{{.*}}, %[[FIRST]]

// The mean of each image, as in squeeze-and-excitation, is one kernel up to 8192 pixels; sums over all
// images are split from 1024 pixels on, wherever images begin.
func.func @squeezed(%x : tensor<3x56x56x96xf16>) -> (tensor<3x96xf16>, tensor<96xf32>) {
  %c = graph.permute %x {dims = array<i64: 0, 3, 1, 2>} : (tensor<3x56x56x96xf16>) -> tensor<3x96x56x56xf16>
  %m = graph.mean %c {axes = array<i64: 2, 3>} : (tensor<3x96x56x56xf16>) -> tensor<3x96xf16>
  %w = graph.cast %c : (tensor<3x96x56x56xf16>) -> tensor<3x96x56x56xf32>
  %s = graph.sum %w {axes = array<i64: 0, 2, 3>} : (tensor<3x96x56x56xf32>) -> tensor<96xf32>
  func.return %m, %s : tensor<3x96xf16>, tensor<96xf32>
}

// CHECK-LABEL: func.func @squeezed(
// CHECK:         %m = graph.mean %c
// CHECK:         %[[ALL:\d+]] = graph.permute %w {dims = array<i64: 0, 2, 3, 1>}
// CHECK-NEXT:    %[[PARTS:\d+]] = graph.reshape %[[ALL]] : (tensor<3x56x56x96xf32>) -> tensor<168x56x96xf32>
// CHECK-NEXT:    graph.sum %[[PARTS]] {axes = array<i64: 1>}

// So is the softmax of a few long rows; the powers of a part that is -inf throughout are zero.
func.func @long_softmax(%x : tensor<2x65536xf32>) -> tensor<2x65536xf32> {
  %y = graph.softmax %x {axis = 1 : i64} : tensor<2x65536xf32>
  func.return %y : tensor<2x65536xf32>
}

// CHECK-LABEL: func.func @long_softmax(
// CHECK:         %[[RUNS:\d+]] = graph.reshape %x : (tensor<2x65536xf32>) -> tensor<2x512x128xf32>
// CHECK-NEXT:    %[[MAXIMA:\d+]] = graph.max %[[RUNS]] {axes = array<i64: 2>, keepdims = true}
// CHECK:         %[[FINITE:\d+]] = graph.maximum %[[MAXIMA]], %{{\d+}}
// CHECK-NEXT:    %[[D:\d+]] = graph.sub %[[RUNS]], %[[FINITE]]
// CHECK-NEXT:    %[[P:\d+]] = graph.exp %[[D]]
// CHECK-NEXT:    %[[SUMS:\d+]] = graph.sum %[[P]] {axes = array<i64: 2>, keepdims = true}
// CHECK-NEXT:    %[[LARGEST:\d+]] = graph.max %[[MAXIMA]] {axes = array<i64: 1>, keepdims = true}
// CHECK:         %[[SCALED:\d+]] = graph.mul %[[SUMS]], %{{\d+}}
// CHECK-NEXT:    graph.sum %[[SCALED]] {axes = array<i64: 1>, keepdims = true}
// CHECK:         %y = graph.div

// Its logarithm is the distance from the largest one, less that of the sum; otherwise it stays.
func.func @log_softmax(%x : tensor<2x65536xf32>, %z : tensor<2x4096xf32>) -> (tensor<2x65536xf32>, tensor<2x4096xf32>) {
  %y = graph.log_softmax %x {axis = 1 : i64} : tensor<2x65536xf32>
  %w = graph.log_softmax %z {axis = 1 : i64} : tensor<2x4096xf32>
  func.return %y, %w : tensor<2x65536xf32>, tensor<2x4096xf32>
}

// CHECK-LABEL: func.func @log_softmax(
// CHECK:         graph.max %{{.*}} -> tensor<2x512x1xf32>
// CHECK:         %[[D:\d+]] = graph.sub %x, %{{\d+}}
// CHECK-NEXT:    %[[L:\d+]] = graph.log %{{\d+}} : tensor<2x1xf32>
// CHECK-NEXT:    %y = graph.sub %[[D]], %[[L]]
// CHECK-NEXT:    %w = graph.log_softmax %z

// -----

// A mask whose heads are adjacent in memory is stored in order, once for all operators that read it;
// one whose keys are adjacent stays, behind views and in an elementwise operator, too.

// CHECK-LABEL: func.func @heads_last
// CHECK:         %[[P:.*]] = graph.permute %b
// CHECK-NEXT:    %[[M:.*]] = graph.add %[[P]], %n
// CHECK-NEXT:    %[[S:.*]] = graph.pack %[[M]] {dims = array<i64: 0, 1, 2>}
// CHECK-NEXT:    %[[A:.*]] = graph.scaled_dot_product_attention %q, %q, %q, %[[S]]
// CHECK-NEXT:    graph.scaled_dot_product_attention %[[A]], %q, %q, %[[S]]
func.func @heads_last(%q: tensor<12x64x64xf16>, %b: tensor<64x64x12xf16>, %n: tensor<64x64xf16>) -> tensor<12x64x64xf16> {
  %p = graph.permute %b {dims = array<i64: 2, 0, 1>} : (tensor<64x64x12xf16>) -> tensor<12x64x64xf16>
  %m = graph.add %p, %n : (tensor<12x64x64xf16>, tensor<64x64xf16>) -> tensor<12x64x64xf16>
  %a = graph.scaled_dot_product_attention %q, %q, %q, %m : (tensor<12x64x64xf16>, tensor<12x64x64xf16>, tensor<12x64x64xf16>, tensor<12x64x64xf16>) -> tensor<12x64x64xf16>
  %y = graph.scaled_dot_product_attention %a, %q, %q, %m : (tensor<12x64x64xf16>, tensor<12x64x64xf16>, tensor<12x64x64xf16>, tensor<12x64x64xf16>) -> tensor<12x64x64xf16>
  func.return %y : tensor<12x64x64xf16>
}

// -----

// CHECK-LABEL: func.func @keys_last
// CHECK-NOT:     graph.pack
func.func @keys_last(%q: tensor<12x64x64xf16>, %b: tensor<64x12x64xf16>, %n: tensor<64x1xf16>) -> tensor<12x64x64xf16> {
  %p = graph.permute %b {dims = array<i64: 1, 0, 2>} : (tensor<64x12x64xf16>) -> tensor<12x64x64xf16>
  %t = graph.permute %n {dims = array<i64: 1, 0>} : (tensor<64x1xf16>) -> tensor<1x64xf16>
  %c = graph.reshape %t : (tensor<1x64xf16>) -> tensor<64x1xf16>
  %m = graph.add %p, %c : (tensor<12x64x64xf16>, tensor<64x1xf16>) -> tensor<12x64x64xf16>
  %y = graph.scaled_dot_product_attention %q, %q, %q, %m : (tensor<12x64x64xf16>, tensor<12x64x64xf16>, tensor<12x64x64xf16>, tensor<12x64x64xf16>) -> tensor<12x64x64xf16>
  func.return %y : tensor<12x64x64xf16>
}

// -----

// Tokens are mixed where channels are adjacent: the product of the weight and the columns, whose
// result has adjacent channels, too. So it goes on behind an activation.

// CHECK-LABEL: func.func @mix_tokens
// CHECK:         %[[H:.*]] = graph.matmul %w, %x : (tensor<128x64xf32>, tensor<2x64x96xf32>) -> tensor<2x128x96xf32>
// CHECK:         %[[B:.*]] = graph.reshape %b : (tensor<128xf32>) -> tensor<128x1xf32>
// CHECK-NEXT:    %[[S:.*]] = graph.add %[[H]], %[[B]]
// CHECK-NEXT:    %[[P:.*]] = graph.permute %[[S]] {dims = array<i64: 0, 2, 1>}
// CHECK-NEXT:    %g = graph.gelu %[[P]]
// CHECK:         %[[T:.*]] = graph.permute %g {dims = array<i64: 0, 2, 1>}
// CHECK:         graph.matmul %{{.*}}, %[[T]] : (tensor<2x64x128xf32>, tensor<2x128x96xf32>) -> tensor<2x64x96xf32>
func.func @mix_tokens(%x : tensor<2x64x96xf32>) -> tensor<2x64x96xf32> {
  %w = graph.constant "w" : tensor<128x64xf32>
  %b = graph.constant "b" : tensor<128xf32>
  %v = graph.constant "v" : tensor<128x64xf32>
  %t = graph.permute %x {dims = array<i64: 0, 2, 1>} : (tensor<2x64x96xf32>) -> tensor<2x96x64xf32>
  %h = graph.linear %t, %w, %b : (tensor<2x96x64xf32>, tensor<128x64xf32>, tensor<128xf32>) -> tensor<2x96x128xf32>
  %g = graph.gelu %h : tensor<2x96x128xf32>
  %e = graph.expand %v : (tensor<128x64xf32>) -> tensor<2x128x64xf32>
  %m = graph.matmul %g, %e : (tensor<2x96x128xf32>, tensor<2x128x64xf32>) -> tensor<2x96x64xf32>
  %y = graph.permute %m {dims = array<i64: 0, 2, 1>} : (tensor<2x96x64xf32>) -> tensor<2x64x96xf32>
  func.return %y : tensor<2x64x96xf32>
}

// -----

// Images have adjacent channels, also behind a norm; a token's channels are rows.

// CHECK-LABEL: func.func @mix_channels
// CHECK:         graph.matmul %{{.*}}, %{{.*}} : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
func.func @mix_channels(%x : tensor<2x3x8x8xf32>) -> tensor<2x64x128xf32> {
  %f = graph.constant "f" : tensor<64x3x1x1xf32>
  %w = graph.constant "w" : tensor<128x64xf32>
  %c = graph.conv2d %x, %f : (tensor<2x3x8x8xf32>, tensor<64x3x1x1xf32>) -> tensor<2x64x8x8xf32>
  %r = graph.reshape %c : (tensor<2x64x8x8xf32>) -> tensor<2x64x64xf32>
  %t = graph.permute %r {dims = array<i64: 0, 2, 1>} : (tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %n = graph.layer_norm %t : tensor<2x64x64xf32>
  %y = graph.linear %n, %w : (tensor<2x64x64xf32>, tensor<128x64xf32>) -> tensor<2x64x128xf32>
  func.return %y : tensor<2x64x128xf32>
}

// -----

// What stays: products of two activations, few columns, and columns of a single matrix.

// CHECK-LABEL: func.func @rows
// CHECK:         graph.matmul %t, %z : (tensor<2x96x64xf32>, tensor<2x64x96xf32>) -> tensor<2x96x96xf32>
// CHECK:         graph.matmul %{{.*}}, %{{.*}} : (tensor<32x64xf32>, tensor<64x128xf32>) -> tensor<32x128xf32>
// CHECK:         graph.matmul %{{.*}}, %{{.*}} : (tensor<96x64xf32>, tensor<64x128xf32>) -> tensor<96x128xf32>
func.func @rows(%x : tensor<2x64x96xf32>, %z : tensor<2x64x96xf32>, %f : tensor<2x64x16xf32>, %o : tensor<64x96xf32>) -> (tensor<2x96x96xf32>, tensor<2x16x128xf32>, tensor<96x128xf32>) {
  %w = graph.constant "w" : tensor<128x64xf32>
  %t = graph.permute %x {dims = array<i64: 0, 2, 1>} : (tensor<2x64x96xf32>) -> tensor<2x96x64xf32>
  %m = graph.matmul %t, %z : (tensor<2x96x64xf32>, tensor<2x64x96xf32>) -> tensor<2x96x96xf32>
  %u = graph.permute %f {dims = array<i64: 0, 2, 1>} : (tensor<2x64x16xf32>) -> tensor<2x16x64xf32>
  %n = graph.linear %u, %w : (tensor<2x16x64xf32>, tensor<128x64xf32>) -> tensor<2x16x128xf32>
  %v = graph.permute %o {dims = array<i64: 1, 0>} : (tensor<64x96xf32>) -> tensor<96x64xf32>
  %p = graph.linear %v, %w : (tensor<96x64xf32>, tensor<128x64xf32>) -> tensor<96x128xf32>
  func.return %m, %n, %p : tensor<2x96x96xf32>, tensor<2x16x128xf32>, tensor<96x128xf32>
}

// -----

// A number in the place of scores.

// CHECK-LABEL: func.func @filled_attention
// CHECK:         %[[FILL:.*]] = graph.fill -2.000000e+00 : f32
// CHECK-NEXT:    graph.where %m, %{{.*}}, %[[FILL]]
func.func @filled_attention(%q : tensor<2x4x16xf32>, %m : tensor<4x4xi1>) -> tensor<2x4x16xf32> {
  %y = graph.scaled_dot_product_attention %q, %q, %q, %m {fill = -2.0 : f64} : (tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<4x4xi1>) -> tensor<2x4x16xf32>
  func.return %y : tensor<2x4x16xf32>
}

// -----

// Another order of the mask is none for attention.

// CHECK-LABEL: func.func @packed_otherwise
// CHECK-DAG:     %[[S:.*]] = graph.pack %p {dims = array<i64: 0, 1, 2>}
// CHECK:         graph.scaled_dot_product_attention %q, %q, %q, %[[S]]
func.func @packed_otherwise(%q: tensor<64x64x64xf16>, %b: tensor<64x64x64xf16>) -> (tensor<64x64x64xf16>, tensor<64x64x64xf16>) {
  %p = graph.permute %b {dims = array<i64: 2, 0, 1>} : (tensor<64x64x64xf16>) -> tensor<64x64x64xf16>
  %o = graph.pack %p {dims = array<i64: 1, 0, 2>} : (tensor<64x64x64xf16>) -> tensor<64x64x64xf16>
  %y = graph.scaled_dot_product_attention %q, %q, %q, %p : (tensor<64x64x64xf16>, tensor<64x64x64xf16>, tensor<64x64x64xf16>, tensor<64x64x64xf16>) -> tensor<64x64x64xf16>
  func.return %y, %o : tensor<64x64x64xf16>, tensor<64x64x64xf16>
}
