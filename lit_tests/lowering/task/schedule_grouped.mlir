// RUN: hidet-opt %s -p 'schedule{arch=sm_90a}' | filecheck %s
// RUN: hidet-opt %s -p 'schedule{arch=sm_90a},map-tensor-cores,map-copies,specialize-warps' | filecheck %s --check-prefix ROLES

// The rows of a group are known at run time. A block computes some columns of a group, for every
// ninth tile of its rows; the last group has zeros behind its end.

// CHECK-LABEL: cuda.kernel @grouped_matmul_kernel(
// CHECK-SAME:    grid(108) block(256)
// CHECK-SAME:    template = "grouped"
// CHECK:         %begin = scf.if {{.*}} -> (index) {
// CHECK:           memref.load %ends
// CHECK:         memref.load %ends[%group]
// CHECK:         %[[FIRST:.*]] = arith.addi %begin
// CHECK:         scf.for %row = %[[FIRST]] to %stop
// CHECK:           scf.for %k0
// CHECK:             task.copy %x_[%row, %k0] to %sa[]
// CHECK:             task.copy %w_[%group, %k0, %column] to %sb[]
// CHECK:             task.matmul %sa, %sb to %acc
// CHECK:           scf.if
// CHECK:             task.foreach {{.*}} of %acc
// CHECK:           task.foreach {{.*}} of %acc
// CHECK:             scf.if
// CHECK:               compute.store {{.*}}, %product

// The bounds of the rows, although loaded, are values that the producer and the consumers share.

// ROLES:         memref.load %ends[%group]
// ROLES:         task.group first(0) count(128)
// ROLES:           scf.for %row
// ROLES:             cuda.tma_load
// ROLES:         task.group first(128) count(256)
// ROLES:           scf.for %row
// ROLES:             task.matmul
func.func @forward(%x : tensor<4096x1024xf16>, %w : tensor<4x1024x512xf16>, %e : tensor<4xi32>) -> tensor<4096x512xf32> {
  %y = compute.fusion (%x_ = %x : tensor<4096x1024xf16>, %w_ = %w : tensor<4x1024x512xf16>, %ends = %e : tensor<4xi32>) -> (tensor<4096x512xf32>) {
    %0 = graph.grouped_matmul %x_, %w_, %ends : (tensor<4096x1024xf16>, tensor<4x1024x512xf16>, tensor<4xi32>) -> tensor<4096x512xf32>
    compute.yield %0 : tensor<4096x512xf32>
  }
  func.return %y : tensor<4096x512xf32>
}

// The ends may be a view, here of numbers that were summed up as columns.

// ROLES-LABEL:   cuda.kernel @ends_grouped_matmul_kernel
// ROLES:         %ends = compute.grid
// ROLES:         compute.load %ends[%group]
// ROLES:         task.group first(0) count(128)
// ROLES:           scf.for %row
func.func @viewed(%x : tensor<4096x1024xf16>, %w : tensor<4x1024x512xf16>, %e : tensor<1x4x1xi32>) -> tensor<4096x512xf32> {
  %y = compute.fusion (%x_ = %x : tensor<4096x1024xf16>, %w_ = %w : tensor<4x1024x512xf16>, %e_ = %e : tensor<1x4x1xi32>) -> (tensor<4096x512xf32>) {
    %ends = compute.grid (%i) {
      %z = arith.constant 0 : index
      %n = compute.load %e_[%z, %i, %z] : tensor<1x4x1xi32>
      compute.yield %n : i32
    } : tensor<4xi32>
    %0 = graph.grouped_matmul %x_, %w_, %ends : (tensor<4096x1024xf16>, tensor<4x1024x512xf16>, tensor<4xi32>) -> tensor<4096x512xf32>
    compute.yield %0 : tensor<4096x512xf32>
  }
  func.return %y : tensor<4096x512xf32>
}
