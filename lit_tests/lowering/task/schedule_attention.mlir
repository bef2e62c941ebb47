// RUN: hidet-opt %s -p 'schedule' | filecheck %s

// Attention is one kernel: a block has some queries in shared memory, and goes through the keys. The
// largest score so far and the sum of exponentials stay in registers; what has been summed is
// corrected where there is a larger score. No map is chosen yet.

// CHECK-LABEL: cuda.kernel @p_kernel
// CHECK-SAME:    template = "attention", instruction = "m16n8k16_f16_f32"
// CHECK:         %scores = memref.alloca() : memref<32x128xf32, #task.map<?>, #cuda.space<register>>
// CHECK:         task.copy %q_[{{.*}}] to %queries[]
// CHECK:         scf.for %k0
// CHECK-NEXT:      arith.constant
// CHECK-NEXT:      task.copy %k_[{{.*}}] to %keys[]
// CHECK:           task.copy %v_[{{.*}}] to %values[]
// CHECK:           task.matmul %queries, %keys transposed to %scores
// CHECK-NOT:       cmpi
// CHECK:           task.combine max %largest
// CHECK:           cuda.function "fast_exp2"
// CHECK:           memref.store %{{.*}}, %weights
// CHECK:           task.matmul %weights, %values to %acc
// CHECK:         task.combine add %total
// CHECK:         compute.store %{{.*}}, %result
func.func @forward(%q : tensor<2x128x64xf16>, %k : tensor<2x128x64xf16>, %v : tensor<2x128x64xf16>) -> tensor<2x128x64xf16> {
  %y = compute.fusion (%q_ = %q : tensor<2x128x64xf16>, %k_ = %k : tensor<2x128x64xf16>, %v_ = %v : tensor<2x128x64xf16>) -> (tensor<2x128x64xf16>) {
    %p = graph.scaled_dot_product_attention %q_, %k_, %v_ : (tensor<2x128x64xf16>, tensor<2x128x64xf16>, tensor<2x128x64xf16>) -> tensor<2x128x64xf16>
    compute.yield %p : tensor<2x128x64xf16>
  }
  func.return %y : tensor<2x128x64xf16>
}
