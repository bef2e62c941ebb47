// RUN: hidet-opt %s -p 'schedule{arch=cpu}' | filecheck %s

// Checks ahead of a kernel become bounds of the argument that they check, each once; the index is
// used as it is.

// CHECK:      cuda.kernel @rows_kernel(%x_ : memref<50xf32>, %y_ : memref<60xf32>,
// CHECK-SAME:   %ids_ : memref<8xi32> {cuda.checked = [#cuda.bounds<50 : i64, "one">, #cuda.bounds<60 : i64, "two">]},
// CHECK-NOT:  cuda.checked_index
func.func @f(%x : tensor<50xf32>, %y : tensor<60xf32>, %ids : tensor<8xi32>) -> tensor<8xf32> {
  %0 = compute.fusion (%x_ = %x : tensor<50xf32>, %y_ = %y : tensor<60xf32>, %ids_ = %ids : tensor<8xi32>) -> (tensor<8xf32>) {
    %rows = compute.grid (%i) {
      %1 = compute.load %ids_[%i] : tensor<8xi32>
      %2 = arith.index_cast %1 : i32 to index
      %3 = cuda.checked_index %2 ahead below 50 "one"
      %4 = cuda.checked_index %2 ahead below 60 "two"
      %5 = cuda.checked_index %2 ahead below 50 "one"
      %6 = compute.load %x_[%3] : tensor<50xf32>
      %7 = compute.load %y_[%4] : tensor<60xf32>
      %8 = compute.load %x_[%5] : tensor<50xf32>
      %9 = arith.addf %6, %7 : f32
      %10 = arith.addf %9, %8 : f32
      compute.yield %10 : f32
    } : tensor<8xf32>
    compute.yield %rows : tensor<8xf32>
  }
  func.return %0 : tensor<8xf32>
}
