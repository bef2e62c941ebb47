// RUN: hidet-opt %s -p 'schedule{arch=sm_90a}' | filecheck %s

// A result that is read along another dimension than it is written is transposed in shared memory:
// its rows are padded by a bank, so that neither side has conflicts.

// CHECK-LABEL: cuda.kernel @neg_kernel(
// CHECK-SAME:    template = "transpose"
// CHECK-SAME:    dim = 1 : i64
// CHECK:         memref.alloca() {{.*}}memref<64x1x66xf16, #cuda.space<shared>>
// CHECK:         compute.load
// CHECK:         memref.store
// CHECK:         memref.load
// CHECK:         memref.store
func.func @images(%x : tensor<2x56x64x128xf16>) -> tensor<2x128x56x64xf16> {
  %y = compute.fusion (%x_ = %x : tensor<2x56x64x128xf16>) -> (tensor<2x128x56x64xf16>) {
    %neg = compute.grid (%n, %c, %h, %w) {
      %0 = compute.load %x_[%n, %h, %w, %c] : tensor<2x56x64x128xf16>
      %1 = arith.negf %0 : f16
      compute.yield %1 : f16
    } : tensor<2x128x56x64xf16>
    compute.yield %neg : tensor<2x128x56x64xf16>
  }
  func.return %y : tensor<2x128x56x64xf16>
}

// Not so rows that a thread writes by itself, nor few elements.

// CHECK-LABEL: cuda.kernel @neg_kernel1(
// CHECK-SAME:    template = "elementwise"
// CHECK-LABEL: cuda.kernel @neg_kernel2(
// CHECK-SAME:    template = "elementwise"
func.func @others(%x : tensor<4x65536xf16>, %z : tensor<64x64xf16>) -> (tensor<65536x4xf16>, tensor<64x64xf16>) {
  %y = compute.fusion (%x_ = %x : tensor<4x65536xf16>) -> (tensor<65536x4xf16>) {
    %neg = compute.grid (%i, %j) {
      %0 = compute.load %x_[%j, %i] : tensor<4x65536xf16>
      %1 = arith.negf %0 : f16
      compute.yield %1 : f16
    } : tensor<65536x4xf16>
    compute.yield %neg : tensor<65536x4xf16>
  }
  %v = compute.fusion (%z_ = %z : tensor<64x64xf16>) -> (tensor<64x64xf16>) {
    %neg = compute.grid (%i, %j) {
      %0 = compute.load %z_[%j, %i] : tensor<64x64xf16>
      %1 = arith.negf %0 : f16
      compute.yield %1 : f16
    } : tensor<64x64xf16>
    compute.yield %neg : tensor<64x64xf16>
  }
  func.return %y, %v : tensor<65536x4xf16>, tensor<64x64xf16>
}
