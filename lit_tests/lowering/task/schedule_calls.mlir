// RUN: hidet-opt %s -p 'schedule' | filecheck %s

// A kernel that is written already is launched; new kernels take other names.

// CHECK-LABEL: cuda.kernel @e_kernel(%x : memref<8xf32>, %y : memref<8xf32>) grid(1) block(8) {
// CHECK:       cuda.kernel @e_kernel1(
// CHECK-LABEL: func.func @forward
// CHECK-NEXT:    %e = cuda.launch @e_kernel1(%x) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:    %y = cuda.launch @e_kernel(%x, %e) {inits = array<i64: 0>} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:    func.return %y
cuda.kernel @e_kernel(%x : memref<8xf32>, %y : memref<8xf32>) grid(1) block(8) {
}

func.func @forward(%x : tensor<8xf32>) -> tensor<8xf32> {
  %e = compute.fusion (%x_ = %x : tensor<8xf32>) -> (tensor<8xf32>) {
    %e = compute.grid (%i) {
      %0 = compute.load %x_[%i] : tensor<8xf32>
      %1 = math.exp %0 : f32
      compute.yield %1 : f32
    } : tensor<8xf32>
    compute.yield %e : tensor<8xf32>
  }
  %y = graph.call_kernel @e_kernel(%x, %e) {inits = array<i64: 0>} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}
