// RUN: hidet-opt %s -p overlap-launches | filecheck %s

// Only who waits may begin early; the pass decides anew where it runs again.

cuda.kernel @waits(%x : memref<32xf32> {cuda.readonly}, %y : memref<32xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %0 = arith.constant 0 : index
  %p = arith.cmpi eq, %t, %0 : index
  scf.if %p {
    cuda.grid_dependency_wait
  }
}
cuda.kernel @signals(%x : memref<32xf32> {cuda.readonly}, %y : memref<32xf32>) grid(1) block(32) {
  cuda.launch_dependents
}
func.func @forward(%x : memref<32xf32>, %y : memref<32xf32>) {
  // CHECK:      cuda.launch @signals(%x, %y) : (memref<32xf32>, memref<32xf32>) -> ()
  cuda.launch @signals(%x, %y) : (memref<32xf32>, memref<32xf32>) -> ()
  // CHECK-NEXT: cuda.launch @waits(%y, %x) programmatic : (memref<32xf32>, memref<32xf32>) -> ()
  cuda.launch @waits(%y, %x) : (memref<32xf32>, memref<32xf32>) -> ()
  // CHECK-NEXT: cuda.launch @signals(%x, %y) : (memref<32xf32>, memref<32xf32>) -> ()
  cuda.launch @signals(%x, %y) programmatic : (memref<32xf32>, memref<32xf32>) -> ()
  func.return
}
