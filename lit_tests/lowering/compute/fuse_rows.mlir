// RUN: hidet-opt %s -p 'graph-pipeline,inline-views,sink-casts,fuse' --split-input-file | filecheck %s

// Columns are rows whose elements lie apart: what a softmax of columns computes of elements and of
// columns is one kernel.

// CHECK-LABEL: func.func @columns
// CHECK:         %y = compute.fusion (%x_1 = %x : tensor<64x4096xf32>) -> (tensor<64x4096xf32>) {
// CHECK-NOT:     compute.fusion
func.func @columns(%x : tensor<64x4096xf32>) -> tensor<64x4096xf32> {
  %y = graph.softmax %x {axis = 0 : i64} : tensor<64x4096xf32>
  func.return %y : tensor<64x4096xf32>
}

// -----

// A few long columns are blocks enough to reduce them, but not to compute all elements.

// CHECK-LABEL: func.func @narrow
// CHECK:         compute.fusion
// CHECK:         %y = compute.fusion
func.func @narrow(%x : tensor<4096x32xf32>) -> tensor<4096x32xf32> {
  %y = graph.softmax %x {axis = 0 : i64} : tensor<4096x32xf32>
  func.return %y : tensor<4096x32xf32>
}

// -----

// Two reductions of the same rows, and what is computed from both, as in the backward pass of a
// layer norm: they begin apart, as neither reads the other, and are one kernel.

// CHECK-LABEL: func.func @both
// CHECK:         %{{.*}} = compute.fusion (%x_1 = %x : tensor<64x256xf32>, %y_1 = %y : tensor<64x256xf32>) -> (tensor<64x256xf32>) {
// CHECK-NOT:     compute.fusion
func.func @both(%x : tensor<64x256xf32>, %y : tensor<64x256xf32>) -> tensor<64x256xf32> {
  %a = graph.exp %x : tensor<64x256xf32>
  %s = graph.sum %a {axes = array<i64: 1>, keepdims = true} : (tensor<64x256xf32>) -> tensor<64x1xf32>
  %b = graph.exp %y : tensor<64x256xf32>
  %t = graph.sum %b {axes = array<i64: 1>, keepdims = true} : (tensor<64x256xf32>) -> tensor<64x1xf32>
  %c = graph.sub %a, %s : (tensor<64x256xf32>, tensor<64x1xf32>) -> tensor<64x256xf32>
  %d = graph.mul %b, %t : (tensor<64x256xf32>, tensor<64x1xf32>) -> tensor<64x256xf32>
  %e = graph.add %c, %d : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
  func.return %e : tensor<64x256xf32>
}

// -----

// A loss reads one logarithm per row: the others are not computed, nor any stored.

// CHECK-LABEL: func.func @picked
// CHECK:         %{{.*}}, %{{.*}} = compute.fusion (%x_1 = %x : tensor<64x256xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
// CHECK:         %p = compute.fusion ({{.*}}) -> (tensor<64x1xf32>) {
// CHECK-NOT:     compute.fusion
func.func @picked(%x : tensor<64x256xf32>, %i : tensor<64x1xi32>) -> tensor<64x1xf32> {
  %y = graph.log_softmax %x {axis = 1 : i64} : tensor<64x256xf32>
  %p = graph.gather %y, %i {axis = 1 : i64} : (tensor<64x256xf32>, tensor<64x1xi32>) -> tensor<64x1xf32>
  func.return %p : tensor<64x1xf32>
}

// -----

// The product is stored in f16, not what a norm computes of it in f32.

// CHECK-LABEL: func.func @narrow_products
// CHECK:         %m = compute.fusion ({{.*}}) -> (tensor<64x256xf16>) {
// CHECK:         %r = compute.fusion (%m_1 = %m : tensor<64x256xf16>) -> (tensor<2x32x256xf32>) {
func.func @narrow_products(%a : tensor<64x64xf16>, %b : tensor<64x256xf16>) -> tensor<2x32x256xf32> {
  %m = graph.matmul %a, %b : (tensor<64x64xf16>, tensor<64x256xf16>) -> tensor<64x256xf16>
  %v = graph.reshape %m : (tensor<64x256xf16>) -> tensor<2x32x256xf16>
  %w = graph.cast %v : (tensor<2x32x256xf16>) -> tensor<2x32x256xf32>
  %h = graph.fill 5.0e-01 : f32 : tensor<f32>
  %x = graph.mul %w, %h : (tensor<2x32x256xf32>, tensor<f32>) -> tensor<2x32x256xf32>
  %r = graph.softmax %x {axis = 2 : i64} : tensor<2x32x256xf32>
  func.return %r : tensor<2x32x256xf32>
}

// -----

// What two kernels need of an argument, each of them computes: a store would cost more.

// CHECK-LABEL: func.func @twice
// CHECK:         %{{.*}} = compute.fusion (%x_1 = %x : tensor<4096x1024xf32>) -> (tensor<4096x1024xf32>) {
// CHECK:         %{{.*}} = compute.fusion (%x_1 = %x : tensor<4096x1024xf32>) -> (tensor<32x1024xf32>) {
func.func @twice(%x : tensor<4096x1024xf32>) -> (tensor<4096x1024xf32>, tensor<1024xf32>) {
  %h = graph.fill 5.0e-01 : f32 : tensor<f32>
  %y = graph.mul %x, %h : (tensor<4096x1024xf32>, tensor<f32>) -> tensor<4096x1024xf32>
  %r = graph.softmax %y {axis = 1 : i64} : tensor<4096x1024xf32>
  %s = graph.sum %y {axes = array<i64: 0>} : (tensor<4096x1024xf32>) -> tensor<1024xf32>
  func.return %r, %s : tensor<4096x1024xf32>, tensor<1024xf32>
}

// -----

// Sums along the columns of a tensor, and of a product with it, load it once; so do those of parts.

// CHECK-LABEL: func.func @beside
// CHECK:         %{{.*}}, %{{.*}} = compute.fusion ({{.*}}) -> (tensor<32x768xf32>, tensor<32x768xf32>) {
// CHECK:         %s, %t = compute.fusion ({{.*}}) -> (tensor<768xf32>, tensor<768xf32>) {
// CHECK-NOT:     compute.fusion
func.func @beside(%x : tensor<8x512x768xf32>, %y : tensor<8x512x768xf32>) -> (tensor<768xf32>, tensor<768xf32>) {
  %p = graph.mul %x, %y : (tensor<8x512x768xf32>, tensor<8x512x768xf32>) -> tensor<8x512x768xf32>
  %s = graph.sum %p {axes = array<i64: 0, 1>} : (tensor<8x512x768xf32>) -> tensor<768xf32>
  %t = graph.sum %x {axes = array<i64: 0, 1>} : (tensor<8x512x768xf32>) -> tensor<768xf32>
  func.return %s, %t : tensor<768xf32>, tensor<768xf32>
}

// -----

// Of long columns a block keeps no elements until it has summed them up: they are stored first.

// CHECK-LABEL: func.func @long
// CHECK:         %e = compute.fusion (%x_1 = %x : tensor<2048x4096xf32>) -> (tensor<2048x4096xf32>) {
// CHECK:         %s = compute.fusion (%e_1 = %e : tensor<2048x4096xf32>) -> (tensor<4096xf32>) {
func.func @long(%x : tensor<2048x4096xf32>) -> (tensor<2048x4096xf32>, tensor<4096xf32>) {
  %e = graph.exp %x : tensor<2048x4096xf32>
  %s = graph.sum %e {axes = array<i64: 0>} : (tensor<2048x4096xf32>) -> tensor<4096xf32>
  func.return %e, %s : tensor<2048x4096xf32>, tensor<4096xf32>
}

// -----

// The gradients of a batch norm: both sums are one kernel, which the mask of an activation and the
// distances from the mean are part of. So are the sums of the parts.

// CHECK-LABEL: func.func @norm
// CHECK:         %w, %{{.*}}, %{{.*}} = compute.fusion ({{.*}}) -> (tensor<8x32x32x64xf16>, tensor<256x64xf32>, tensor<256x64xf32>) {
// CHECK:         %s, %t = compute.fusion ({{.*}}) -> (tensor<64xf32>, tensor<64xf32>) {
// CHECK-NOT:     compute.fusion
func.func @norm(%x : tensor<8x32x32x64xf16>, %g : tensor<8x32x32x64xf16>, %y : tensor<8x32x32x64xf16>, %m : tensor<64xf32>) -> (tensor<8x32x32x64xf16>, tensor<64xf32>, tensor<64xf32>) {
  %z = graph.fill 0.0 : f16 : tensor<f16>
  %c = graph.le %y, %z : (tensor<8x32x32x64xf16>, tensor<f16>) -> tensor<8x32x32x64xi1>
  %w = graph.where %c, %z, %g : (tensor<8x32x32x64xi1>, tensor<f16>, tensor<8x32x32x64xf16>) -> tensor<8x32x32x64xf16>
  %v = graph.cast %w : (tensor<8x32x32x64xf16>) -> tensor<8x32x32x64xf32>
  %s = graph.sum %v {axes = array<i64: 0, 1, 2>} : (tensor<8x32x32x64xf32>) -> tensor<64xf32>
  %u = graph.cast %x : (tensor<8x32x32x64xf16>) -> tensor<8x32x32x64xf32>
  %d = graph.sub %u, %m : (tensor<8x32x32x64xf32>, tensor<64xf32>) -> tensor<8x32x32x64xf32>
  %p = graph.mul %v, %d : (tensor<8x32x32x64xf32>, tensor<8x32x32x64xf32>) -> tensor<8x32x32x64xf32>
  %t = graph.sum %p {axes = array<i64: 0, 1, 2>} : (tensor<8x32x32x64xf32>) -> tensor<64xf32>
  func.return %w, %s, %t : tensor<8x32x32x64xf16>, tensor<64xf32>, tensor<64xf32>
}

// -----

// A kernel of rows takes up what few elements it reads beside them, rather than to be continued.

// CHECK-LABEL: func.func @running
// CHECK:         %n = compute.fusion ({{.*}}) -> (tensor<512xf32>) {
// CHECK-NOT:     compute.fusion
func.func @running(%x : tensor<512x256xf32>, %old : tensor<512xf32>) -> tensor<512xf32> {
  %s = graph.sum %x {axes = array<i64: 1>} : (tensor<512x256xf32>) -> tensor<512xf32>
  %h = graph.fill 5.0e-01 : f32 : tensor<f32>
  %o = graph.mul %old, %h : (tensor<512xf32>, tensor<f32>) -> tensor<512xf32>
  %n = graph.add %s, %o : (tensor<512xf32>, tensor<512xf32>) -> tensor<512xf32>
  func.return %n : tensor<512xf32>
}

// -----

// The mask of a ReLU is an epilogue of the product before it, and the sums of a norm's gradient still
// are one kernel: the distance from a mean that is rounded is computed in it, and where it is read.

// CHECK-LABEL: func.func @epilogue
// CHECK:         %w = compute.fusion (%a_1 = %a : tensor<4096x64xf16>, %b_1 = %b : tensor<64x64xf16>, %y_1 = %y : tensor<4096x64xf16>) -> (tensor<4096x64xf16>) {
// CHECK:         %r = compute.fusion ({{.*}}) -> (tensor<64xf16>) {
// CHECK:         %{{.*}}, %{{.*}} = compute.fusion ({{.*}}%r_1 = %r : tensor<64xf16>) -> (tensor<128x64xf32>, tensor<128x64xf32>) {
// CHECK:         %s, %t = compute.fusion
// CHECK:         %o = compute.fusion ({{.*}}%r_1 = %r : tensor<64xf16>
// CHECK-NOT:     compute.fusion
func.func @epilogue(%a : tensor<4096x64xf16>, %b : tensor<64x64xf16>, %y : tensor<4096x64xf16>, %x : tensor<4096x64xf16>, %m : tensor<64xf32>) -> (tensor<4096x64xf16>, tensor<64xf32>, tensor<64xf32>) {
  %g = graph.matmul %a, %b : (tensor<4096x64xf16>, tensor<64x64xf16>) -> tensor<4096x64xf16>
  %z = graph.fill 0.0 : f16 : tensor<f16>
  %c = graph.le %y, %z : (tensor<4096x64xf16>, tensor<f16>) -> tensor<4096x64xi1>
  %w = graph.where %c, %z, %g : (tensor<4096x64xi1>, tensor<f16>, tensor<4096x64xf16>) -> tensor<4096x64xf16>
  %r = graph.cast %m : (tensor<64xf32>) -> tensor<64xf16>
  %v = graph.cast %w : (tensor<4096x64xf16>) -> tensor<4096x64xf32>
  %s = graph.sum %v {axes = array<i64: 0>} : (tensor<4096x64xf32>) -> tensor<64xf32>
  %u = graph.cast %x : (tensor<4096x64xf16>) -> tensor<4096x64xf32>
  %e = graph.cast %r : (tensor<64xf16>) -> tensor<64xf32>
  %d = graph.sub %u, %e : (tensor<4096x64xf32>, tensor<64xf32>) -> tensor<4096x64xf32>
  %p = graph.mul %v, %d : (tensor<4096x64xf32>, tensor<4096x64xf32>) -> tensor<4096x64xf32>
  %t = graph.sum %p {axes = array<i64: 0>} : (tensor<4096x64xf32>) -> tensor<64xf32>
  %q = graph.mul %d, %t : (tensor<4096x64xf32>, tensor<64xf32>) -> tensor<4096x64xf32>
  %o = graph.cast %q : (tensor<4096x64xf32>) -> tensor<4096x64xf16>
  func.return %o, %s, %t : tensor<4096x64xf16>, tensor<64xf32>, tensor<64xf32>
}

// -----

// What takes functions to compute, as the derivative of an activation, is no epilogue.

// CHECK-LABEL: func.func @derivative
// CHECK:         %g = compute.fusion ({{.*}}) -> (tensor<4096x64xf16>) {
// CHECK:         %w = compute.fusion
// CHECK:           math.exp
// CHECK-NOT:     compute.fusion
func.func @derivative(%a : tensor<4096x64xf16>, %b : tensor<64x64xf16>, %y : tensor<4096x64xf16>) -> tensor<4096x64xf16> {
  %g = graph.matmul %a, %b : (tensor<4096x64xf16>, tensor<64x64xf16>) -> tensor<4096x64xf16>
  %e = graph.exp %y : tensor<4096x64xf16>
  %w = graph.mul %e, %g : (tensor<4096x64xf16>, tensor<4096x64xf16>) -> tensor<4096x64xf16>
  func.return %w : tensor<4096x64xf16>
}
