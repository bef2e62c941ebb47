// RUN: hidet-opt %s -p pass-tensor-maps --verify-diagnostics | filecheck %s

// CHECK: @k is launched on tensors: plan-memory has not run, or it is neither in @prepare nor in @forward
cuda.kernel @k(%x : memref<64xf32>, %y : memref<64xf32>) grid(1) block(64) {
}
func.func @main(%x : tensor<64xf32>) -> tensor<64xf32> {
  %y = cuda.launch @k(%x) : (tensor<64xf32>) -> tensor<64xf32>
  func.return %y : tensor<64xf32>
}
