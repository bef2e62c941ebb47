// RUN: hidet-opt %s -p 'fuse' | filecheck %s

// The call of a kernel stands between fusions: what it reads is stored, a view as well, and what is
// computed of its result, or of anything after it, comes later.

// CHECK-LABEL: func.func @between
// CHECK-NEXT:    %e, %f = compute.fusion (%x_1 = %x : tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
// CHECK:         %v = compute.fusion (%x_1 = %x : tensor<8xf32>) -> (tensor<8xf32>)
// CHECK:         %c = graph.call_kernel @k(%e, %v) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:    %g = compute.fusion (%c_1 = %c : tensor<8xf32>, %f_1 = %f : tensor<8xf32>) -> (tensor<8xf32>)
// CHECK:         func.return %g
func.func @between(%x : tensor<8xf32>) -> tensor<8xf32> {
  %e = compute.grid (%i) {
    %0 = compute.load %x[%i] : tensor<8xf32>
    %1 = math.exp %0 : f32
    compute.yield %1 : f32
  } : tensor<8xf32>
  %v = compute.grid (%i) {
    %c7 = arith.constant 7 : index
    %j = arith.subi %c7, %i : index
    %0 = compute.load %x[%j] : tensor<8xf32>
    compute.yield %0 : f32
  } : tensor<8xf32>
  %c = graph.call_kernel @k(%e, %v) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %f = compute.grid (%i) {
    %0 = compute.load %e[%i] : tensor<8xf32>
    %1 = math.exp %0 : f32
    compute.yield %1 : f32
  } : tensor<8xf32>
  %g = compute.grid (%i) {
    %0 = compute.load %c[%i] : tensor<8xf32>
    %1 = compute.load %f[%i] : tensor<8xf32>
    %2 = arith.addf %0, %1 : f32
    compute.yield %2 : f32
  } : tensor<8xf32>
  func.return %g : tensor<8xf32>
}

cuda.kernel @k(%x : memref<8xf32>, %v : memref<8xf32>, %y : memref<8xf32>) grid(1) block(8) {
}
