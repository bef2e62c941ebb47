// RUN: HIDET_VERIFY

cuda.kernel @f(%x : memref<8xf32>, %i : index) grid(1) block(32) {
  %v = memref.alloca() : memref<4xf32, #cuda.space<local>>
  // CHECK: a load has no hint 'wt', only ca, cg, cs, lu, cv, nc
  cuda.hinted_copy wt %x[%i] to %v[%i] width 4 : memref<8xf32> to memref<4xf32, #cuda.space<local>>
}

// -----

cuda.kernel @f(%x : memref<8xf32>, %i : index) grid(1) block(32) {
  %v = memref.alloca() : memref<4xf32, #cuda.space<local>>
  // CHECK: one access has 1, 2, 4, 8 or 16 bytes, not 12
  cuda.hinted_copy cs %v[%i] to %x[%i] width 3 : memref<4xf32, #cuda.space<local>> to memref<8xf32>
}

// -----

cuda.kernel @f(%x : memref<8xf32>, %i : index) grid(1) block(32) {
  %v = memref.alloca() : memref<4xf16, #cuda.space<local>>
  // CHECK: cannot copy elements of memref<8xf32> to memref<4xf16, #cuda.space<local>>
  cuda.hinted_copy cs %x[%i] to %v[%i] width 4 : memref<8xf32> to memref<4xf16, #cuda.space<local>>
}

// -----

cuda.kernel @f(%x : memref<8xf32>, %i : index) grid(1) block(32) {
  // CHECK: there is no release load
  %v = cuda.ordered_load release gpu %x[%i] : memref<8xf32>
}

// -----

cuda.kernel @f(%x : memref<8xf32>, %v : f32, %i : index) grid(1) block(32) {
  // CHECK: there is no acquire store
  cuda.ordered_store acquire gpu %v, %x[%i] : memref<8xf32>
}

// -----

cuda.kernel @f(%x : memref<8xf16>, %i : index) grid(1) block(32) {
  // CHECK: an ordered access has 4 or 8 bytes, not f16
  %v = cuda.ordered_load acquire gpu %x[%i] : memref<8xf16>
}
