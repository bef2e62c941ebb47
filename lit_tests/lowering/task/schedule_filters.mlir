// RUN: hidet-opt %s -p 'schedule{arch=sm_90a}' | filecheck %s

// The gradient of grouped filters, here depthwise: a thread has one row of the filters, and goes
// through rows of its part with a run of pixels in registers. Threads that share sums store some
// columns each.

// CHECK-LABEL: cuda.kernel @y_kernel(
// CHECK-SAME:    grid(128)
// CHECK-SAME:    template = "filters"
// CHECK:         scf.for %step
// CHECK:           scf.for %number
// CHECK:             task.foreach {{.*}} of %window
// CHECK:               memref.load %x_
// CHECK:               memref.store {{.*}}, %window
// CHECK:             task.foreach {{.*}} of %run
// CHECK:               memref.load %g_
// CHECK:               memref.store {{.*}}, %run
// CHECK:             task.foreach (%p_1, %n) in
// CHECK:               memref.load %acc[%n, %v_2]
// CHECK:               memref.load %window[{{.*}}, %v_2]
// CHECK:               memref.load %run[%p_1, %v_2]
// CHECK:               memref.store {{.*}}, %acc[%n, %v_2]
// CHECK:         memref.store {{.*}}, %sums[%first
// CHECK:         memref.load %sums[%other,
// CHECK:         compute.store {{.*}}, %result[%part
func.func @forward(%x : tensor<4x16x16x64xf16>, %g : tensor<4x14x14x64xf16>) -> tensor<8x3x3x1x64xf32> {
  %r = compute.fusion (%x_ = %x : tensor<4x16x16x64xf16>, %g_ = %g : tensor<4x14x14x64xf16>) -> (tensor<8x3x3x1x64xf32>) {
    %y = graph.grouped_filter_gradient %x_, %g_ {kernel = array<i64: 3, 3>, groups = 64 : i64, parts = 8 : i64} : (tensor<4x16x16x64xf16>, tensor<4x14x14x64xf16>) -> tensor<8x3x3x1x64xf32>
    compute.yield %y : tensor<8x3x3x1x64xf32>
  }
  func.return %r : tensor<8x3x3x1x64xf32>
}

// Of groups of four channels a thread has them all, and four filters.

// CHECK-LABEL: cuda.kernel @y_kernel1(
// CHECK-SAME:    inputs = 4 : i64
// CHECK:             task.foreach {{.*}} of %window {{.*}}x4xf32
// CHECK:               memref.load %window[{{.*}}, %u]
// CHECK:               memref.store {{.*}}, %acc[%n, %v_2] : memref<12x4xf32
func.func @groups(%x : tensor<32x58x58x128xf16>, %g : tensor<32x56x56x128xf16>) -> tensor<264x3x3x4x128xf32> {
  %r = compute.fusion (%x_ = %x : tensor<32x58x58x128xf16>, %g_ = %g : tensor<32x56x56x128xf16>) -> (tensor<264x3x3x4x128xf32>) {
    %y = graph.grouped_filter_gradient %x_, %g_ {kernel = array<i64: 3, 3>, groups = 32 : i64, parts = 264 : i64} : (tensor<32x58x58x128xf16>, tensor<32x56x56x128xf16>) -> tensor<264x3x3x4x128xf32>
    compute.yield %y : tensor<264x3x3x4x128xf32>
  }
  func.return %r : tensor<264x3x3x4x128xf32>
}
