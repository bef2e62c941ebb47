// RUN: hidet-opt %s -p 'schedule{arch=sm_90a}' | filecheck %s

// The gradient of depthwise filters: a thread has one row of the filters, and goes through rows of
// its part with a run of pixels in registers. Threads that share sums store some columns each.

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
// CHECK:             task.foreach {{.*}} of %acc
// CHECK:               memref.load %window
// CHECK:               memref.load %run
// CHECK:               memref.store {{.*}}, %acc
// CHECK:         memref.store {{.*}}, %sums[%first
// CHECK:         memref.load %sums[%other,
// CHECK:         compute.store {{.*}}, %result[%part
func.func @forward(%x : tensor<4x16x16x64xf16>, %g : tensor<4x14x14x64xf16>) -> tensor<8x3x3x64xf32> {
  %r = compute.fusion (%x_ = %x : tensor<4x16x16x64xf16>, %g_ = %g : tensor<4x14x14x64xf16>) -> (tensor<8x3x3x64xf32>) {
    %y = graph.depthwise_filter_gradient %x_, %g_ {kernel = array<i64: 3, 3>, parts = 8 : i64} : (tensor<4x16x16x64xf16>, tensor<4x14x14x64xf16>) -> tensor<8x3x3x64xf32>
    compute.yield %y : tensor<8x3x3x64xf32>
  }
  func.return %r : tensor<8x3x3x64xf32>
}
