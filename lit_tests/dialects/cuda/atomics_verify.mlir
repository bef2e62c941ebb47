// RUN: HIDET_VERIFY

cuda.kernel @f(%x : memref<8x8xf32>, %v : f32, %i : index) grid(1) block(32) {
  // CHECK: 1 indices for memref<8x8xf32>
  %0 = cuda.atomic add %v, %x[%i] : memref<8x8xf32>
}

// -----

cuda.kernel @f(%p : i1) grid(1) block(32) {
  // CHECK: 'ballot' gives i32
  %0 = cuda.vote ballot %p : i1
}
