// RUN: hidet-opt %s -p overlap-launches | filecheck %s
// RUN: hidet-opt %s -p 'overlap-launches{arch=cpu}' | filecheck %s --check-prefixes=CHECK,PLAIN

// A kernel that waits stays as its author wrote it, on every machine; the pass decides anew where
// it runs again.

// CHECK:      cuda.kernel @waits(%x : memref<32xf32> {cuda.readonly, cuda.awaited}, %y : memref<32xf32>)
// CHECK:        scf.if %p {
// CHECK-NEXT:     cuda.grid_dependency_wait
// CHECK-NEXT:     %1 = memref.load %x[%t] : memref<32xf32>
cuda.kernel @waits(%x : memref<32xf32> {cuda.readonly}, %y : memref<32xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %0 = arith.constant 0 : index
  %p = arith.cmpi eq, %t, %0 : index
  scf.if %p {
    cuda.grid_dependency_wait
    %1 = memref.load %x[%t] : memref<32xf32>
    memref.store %1, %y[%t] : memref<32xf32>
  }
}
cuda.kernel @signals(%x : memref<32xf32> {cuda.readonly}, %y : memref<32xf32>) grid(1) block(32) {
  cuda.launch_dependents
}
func.func @forward(%x : memref<32xf32>, %y : memref<32xf32>) attributes {outputs = 1 : i64} {
  %a = cuda.buffer arena offset 0 : memref<32xf32>
  // PLAIN:      cuda.launch @signals(%x, %a) : (memref<32xf32>, memref<32xf32>) -> ()
  cuda.launch @signals(%x, %a) : (memref<32xf32>, memref<32xf32>) -> ()
  // CHECK:      cuda.launch @waits(%a, %y) programmatic : (memref<32xf32>, memref<32xf32>) -> ()
  cuda.launch @waits(%a, %y) : (memref<32xf32>, memref<32xf32>) -> ()
  // PLAIN-NEXT: cuda.launch @signals(%x, %y) : (memref<32xf32>, memref<32xf32>) -> ()
  cuda.launch @signals(%x, %y) programmatic : (memref<32xf32>, memref<32xf32>) -> ()
  func.return
}
