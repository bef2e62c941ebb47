// RUN: hidet-opt %s -p 'schedule{arch="sm_80"}' --split-input-file | filecheck %s

// Products of f32 run on tensor cores where their precision permits TF32, and only there.

// CHECK-LABEL: cuda.kernel @fast_kernel
// CHECK-SAME:    instruction = "m16n8k8_tf32_f32"
// CHECK-LABEL: cuda.kernel @exact_kernel
// CHECK-SAME:    instruction = "fma"
func.func @precision(%x : tensor<64x128xf32>, %w : tensor<128x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %y = compute.fusion (%x_ = %x : tensor<64x128xf32>, %w_ = %w : tensor<128x64xf32>) -> (tensor<64x64xf32>) {
    %fast = graph.matmul %x_, %w_ {precision = "tf32"} : (tensor<64x128xf32>, tensor<128x64xf32>) -> tensor<64x64xf32>
    compute.yield %fast : tensor<64x64xf32>
  }
  %z = compute.fusion (%x_ = %x : tensor<64x128xf32>, %w_ = %w : tensor<128x64xf32>) -> (tensor<64x64xf32>) {
    %exact = graph.matmul %x_, %w_ : (tensor<64x128xf32>, tensor<128x64xf32>) -> tensor<64x64xf32>
    compute.yield %exact : tensor<64x64xf32>
  }
  func.return %y, %z : tensor<64x64xf32>, tensor<64x64xf32>
}
