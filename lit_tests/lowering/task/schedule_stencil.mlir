// RUN: hidet-opt %s -p 'schedule{arch=sm_90a}' | filecheck %s

// A depthwise convolution goes through the rows of its filters with the pixels under a row in
// registers. Few pixels are shared by threads: each has some rows, and then stores some pixels.

// CHECK-LABEL: cuda.kernel @conv_kernel(
// CHECK-SAME:    template = "stencil"
// CHECK-SAME:    parts = 7 : i64
// CHECK:         task.foreach {{.*}} of %window
// CHECK:           memref.load %x_
// CHECK:           memref.store {{.*}}, %window
// CHECK:         task.foreach (%s, %u) in
// CHECK:           task.foreach {{.*}} of %filters
// CHECK:             memref.load %w_
// CHECK:             memref.store {{.*}}, %filters
// CHECK:           task.foreach {{.*}} of %acc
// CHECK:             memref.load %window
// CHECK:             memref.load %filters
// CHECK:             memref.store {{.*}}, %acc
// CHECK:         memref.store {{.*}}, %sums[%part,
// CHECK:         memref.load %sums[%other,
// CHECK:         compute.store {{.*}}, %result
func.func @few(%x : tensor<1x20x20x384xf16>, %w : tensor<7x7x1x384xf16>) -> tensor<1x14x14x384xf32> {
  %y = compute.fusion (%x_ = %x : tensor<1x20x20x384xf16>, %w_ = %w : tensor<7x7x1x384xf16>) -> (tensor<1x14x14x384xf32>) {
    %conv = graph.grouped_conv2d %x_, %w_ : (tensor<1x20x20x384xf16>, tensor<7x7x1x384xf16>) -> tensor<1x14x14x384xf32>
    compute.yield %conv : tensor<1x14x14x384xf32>
  }
  func.return %y : tensor<1x14x14x384xf32>
}

// Of many pixels each thread has all rows, and nothing is shared.

// CHECK-LABEL: cuda.kernel @conv_kernel1(
// CHECK-SAME:    parts = 1 : i64
// CHECK-NOT:     shared
// CHECK:         compute.store {{.*}}, %result
func.func @many(%x : tensor<256x20x20x384xf16>, %w : tensor<7x7x1x384xf16>) -> tensor<256x14x14x384xf32> {
  %y = compute.fusion (%x_ = %x : tensor<256x20x20x384xf16>, %w_ = %w : tensor<7x7x1x384xf16>) -> (tensor<256x14x14x384xf32>) {
    %conv = graph.grouped_conv2d %x_, %w_ : (tensor<256x20x20x384xf16>, tensor<7x7x1x384xf16>) -> tensor<256x14x14x384xf32>
    compute.yield %conv : tensor<256x14x14x384xf32>
  }
  func.return %y : tensor<256x14x14x384xf32>
}

// A vector of a group's filters is multiplied by each channel of the group; the pixels have all.

// CHECK-LABEL: cuda.kernel @conv_kernel2(
// CHECK-SAME:    template = "stencil"
// CHECK-SAME:    vector = 4 : i64
// CHECK:         task.foreach {{.*}} of %window {{.*}}x4xf32
// CHECK:         task.foreach (%s, %u) in
// CHECK:           %pixel_of_window = memref.load %window[{{.*}}, %u]
func.func @groups(%x : tensor<32x58x58x128xf16>, %w : tensor<3x3x4x128xf16>) -> tensor<32x56x56x128xf32> {
  %y = compute.fusion (%x_ = %x : tensor<32x58x58x128xf16>, %w_ = %w : tensor<3x3x4x128xf16>) -> (tensor<32x56x56x128xf32>) {
    %conv = graph.grouped_conv2d %x_, %w_ : (tensor<32x58x58x128xf16>, tensor<3x3x4x128xf16>) -> tensor<32x56x56x128xf32>
    compute.yield %conv : tensor<32x56x56x128xf32>
  }
  func.return %y : tensor<32x56x56x128xf32>
}
