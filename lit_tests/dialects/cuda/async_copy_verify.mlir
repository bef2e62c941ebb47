// RUN: HIDET_VERIFY

cuda.kernel @f(%x : memref<64xf32>, %i : index) grid(1) block(32) {
  %s = memref.alloca() : memref<64xf32, #cuda.space<shared>>
  // CHECK: 8 elements of f32 are 32 bytes; cp.async.ca.shared.global copies 4 or 8 or 16
  cuda.cp_async ca %x[%i] to %s[%i] width 8 : memref<64xf32> to memref<64xf32, #cuda.space<shared>>
}

// -----

cuda.kernel @f(%x : memref<64xf16>, %i : index) grid(1) block(32) {
  %s = memref.alloca() : memref<64xf16, #cuda.space<shared>>
  // CHECK: 4 elements of f16 are 8 bytes; cp.async.cg.shared.global copies 16
  cuda.cp_async cg %x[%i] to %s[%i] width 4 : memref<64xf16> to memref<64xf16, #cuda.space<shared>>
}

// -----

cuda.kernel @f(%x : memref<64xbf16>, %i : index) grid(1) block(32) {
  %s = memref.alloca() : memref<64xf16, #cuda.space<shared>>
  // CHECK: cannot copy elements of memref<64xbf16> to memref<64xf16
  cuda.cp_async ca %x[%i] to %s[%i] width 8 : memref<64xbf16> to memref<64xf16, #cuda.space<shared>>
}

// -----

cuda.kernel @f(%i : index) grid(1) block(32) {
  %x = memref.alloca() : memref<64xf16, #cuda.space<shared>>
  %s = memref.alloca() : memref<64xf16, #cuda.space<shared>>
  // CHECK: operand 'src' of cp.async.ca.shared.global is in global memory, not memref<64xf16, #cuda.space<shared>>
  cuda.cp_async ca %x[%i] to %s[%i] width 8 : memref<64xf16, #cuda.space<shared>> to memref<64xf16, #cuda.space<shared>>
}

// -----

cuda.kernel @f(%x : memref<64xf16>, %i : index) grid(1) block(32) {
  %s = memref.alloca() : memref<64xf16, #cuda.space<local>>
  // CHECK: operand 'dst' of cp.async.ca.shared.global is in shared memory, not memref<64xf16, #cuda.space<local>>
  cuda.cp_async ca %x[%i] to %s[%i] width 8 : memref<64xf16> to memref<64xf16, #cuda.space<local>>
}

// -----

cuda.kernel @f(%x : memref<64xf16>, %i : index) grid(1) block(32) {
  %s = memref.alloca() : memref<64xf16, #cuda.space<shared>>
  // CHECK: 2 indices for memref<64xf16>
  cuda.cp_async ca %x[%i, %i] to %s[%i] width 8 : memref<64xf16> to memref<64xf16, #cuda.space<shared>>
}

// -----

cuda.kernel @f(%x : memref<64xindex>, %i : index) grid(1) block(32) {
  %s = memref.alloca() : memref<64xindex, #cuda.space<shared>>
  // CHECK: instructions cannot access elements of index
  cuda.cp_async ca %x[%i] to %s[%i] width 8 : memref<64xindex> to memref<64xindex, #cuda.space<shared>>
}

// -----

cuda.kernel @f() grid(1) block(32) {
  // CHECK: -1 groups cannot be in flight
  cuda.cp_async_wait -1
}
