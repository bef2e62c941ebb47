// RUN: HIDET_VERIFY

cuda.kernel @f(%x : memref<8xf32>) grid(1) block(32) {
  // CHECK: only shared and local arrays are tracked, not memref<8xf32>
  cuda.track %x "x" : memref<8xf32>
}

// -----

cuda.kernel @f(%x : memref<8xf32>, %i : index) grid(1) block(32) {
  // CHECK: only shared and local arrays are tracked, not memref<8xf32>
  cuda.check_access read %x[%i] width 1 : memref<8xf32>
}

// -----

cuda.kernel @f(%i : index) grid(1) block(32) {
  %s = memref.alloca() : memref<8x8xf32, #cuda.space<shared>>
  // CHECK: 1 indices for memref<8x8xf32, #cuda.space<shared>>
  cuda.check_access read %s[%i] width 1 : memref<8x8xf32, #cuda.space<shared>>
}

// -----

cuda.kernel @f(%i : index) grid(1) block(32) {
  // CHECK: 1 indices for 2 extents
  cuda.check_bounds "x"[%i] in [8, 8] width 1
}

// -----

cuda.kernel @f(%i : index) grid(1) block(32) {
  // CHECK: an extent of -1 is that of some memory, 'of %x'
  cuda.check_bounds "x"[%i] in [-1] width 1
}
