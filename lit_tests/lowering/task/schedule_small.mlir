// RUN: hidet-opt %s -p 'schedule{arch=cpu}' | filecheck %s
// RUN: hidet-opt %s -p 'schedule{arch=sm_90a}' | filecheck %s --check-prefix=GPU

// The CPU computes a few cheap elements on the calling thread.

// GPU-NOT: cuda.serial
// CHECK: cuda.kernel @few_kernel{{.*}}cuda.serial
// CHECK: cuda.kernel @many_kernel
// CHECK-NOT: cuda.serial
// CHECK: cuda.kernel @costly_kernel
// CHECK-NOT: cuda.serial
func.func @f(%x : tensor<16384xf32>, %z : tensor<16385xf32>)
    -> (tensor<16384xf32>, tensor<16385xf32>, tensor<16384xf32>) {
  %1 = compute.fusion (%a = %x : tensor<16384xf32>) -> (tensor<16384xf32>) {
    %few = compute.grid (%i) {
      %v = compute.load %a[%i] : tensor<16384xf32>
      %w = arith.mulf %v, %v : f32
      compute.yield %w : f32
    } : tensor<16384xf32>
    compute.yield %few : tensor<16384xf32>
  }
  %2 = compute.fusion (%a = %z : tensor<16385xf32>) -> (tensor<16385xf32>) {
    %many = compute.grid (%i) {
      %v = compute.load %a[%i] : tensor<16385xf32>
      %w = arith.mulf %v, %v : f32
      compute.yield %w : f32
    } : tensor<16385xf32>
    compute.yield %many : tensor<16385xf32>
  }
  %3 = compute.fusion (%a = %x : tensor<16384xf32>) -> (tensor<16384xf32>) {
    %costly = compute.grid (%i) {
      %v = compute.load %a[%i] : tensor<16384xf32>
      %w = math.erf %v : f32
      compute.yield %w : f32
    } : tensor<16384xf32>
    compute.yield %costly : tensor<16384xf32>
  }
  func.return %1, %2, %3 : tensor<16384xf32>, tensor<16385xf32>, tensor<16384xf32>
}
