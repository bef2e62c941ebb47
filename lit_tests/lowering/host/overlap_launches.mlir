// RUN: hidet-opt %s -p overlap-launches | filecheck %s

// Launches of kernels that wait themselves are programmatic, in all functions; other ones are not.

cuda.kernel @waits(%x : memref<32xf32>) grid(1) block(32) attributes {cuda.overlaps} {
  cuda.grid_dependency_wait
}
cuda.kernel @other(%x : memref<32xf32>) grid(1) block(32) {
}
func.func @prepare() {
  %w = cuda.buffer prepared offset 0 : memref<32xf32>
  // CHECK:      cuda.launch @waits(%w) programmatic : (memref<32xf32>) -> ()
  cuda.launch @waits(%w) : (memref<32xf32>) -> ()
  func.return
}
func.func @forward(%x : memref<32xf32>) attributes {outputs = 1 : i64} {
  // CHECK:      cuda.launch @waits(%x) programmatic : (memref<32xf32>) -> ()
  cuda.launch @waits(%x) programmatic : (memref<32xf32>) -> ()
  // CHECK-NEXT: cuda.launch @other(%x) : (memref<32xf32>) -> ()
  cuda.launch @other(%x) programmatic : (memref<32xf32>) -> ()
  func.return
}
