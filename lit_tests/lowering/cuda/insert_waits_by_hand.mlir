// RUN: hidet-opt %s -p insert-waits | filecheck %s
// RUN: hidet-opt %s -p 'insert-waits{arch=cpu}' | filecheck %s

// A kernel that waits stays as its author wrote it, on every target, and overlaps even if it is the
// only one; one that only signals does not. Constants are not awaited.

// CHECK:      cuda.kernel @waits(%x : memref<32xf32> {cuda.readonly, cuda.awaited}, %w : memref<32xf32> {cuda.readonly, cuda.constant}, %y : memref<32xf32>)
// CHECK-SAME:   attributes {cuda.overlaps}
// CHECK:        scf.if %p {
// CHECK-NEXT:     cuda.grid_dependency_wait
// CHECK-NEXT:     %1 = memref.load %x[%t] : memref<32xf32>
cuda.kernel @waits(%x : memref<32xf32> {cuda.readonly}, %w : memref<32xf32> {cuda.readonly, cuda.constant}, %y : memref<32xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %0 = arith.constant 0 : index
  %p = arith.cmpi eq, %t, %0 : index
  scf.if %p {
    cuda.grid_dependency_wait
    %1 = memref.load %x[%t] : memref<32xf32>
    %2 = memref.load %w[%t] : memref<32xf32>
    memref.store %1, %y[%t] : memref<32xf32>
  }
}
// CHECK:      cuda.kernel @signals
// CHECK-NOT:    cuda.overlaps
// CHECK-NOT:    cuda.grid_dependency_wait
cuda.kernel @signals(%x : memref<32xf32> {cuda.readonly}, %y : memref<32xf32>) grid(1) block(32) {
  cuda.launch_dependents
}
