// RUN: HIDET_VERIFY

cuda.kernel @f(%x : memref<8x8xf32>, %v : f32, %i : index) grid(1) block(32) {
  // CHECK: 1 indices for memref<8x8xf32>
  %0 = cuda.atomic add %v, %x[%i] : memref<8x8xf32>
}

// -----

cuda.kernel @f(%p : i1) grid(1) block(32) {
  // CHECK: 'count' returns i32
  %0 = cuda.sync_vote count %p : i1
}

// -----

cuda.kernel @f(%p : i1) grid(1) block(32) {
  // CHECK: 'ballot' returns i32
  %0 = cuda.vote ballot %p : i1
}

// -----

// CHECK: 'cas' has a value to compare with, after 'if', and no other has
cuda.kernel @f(%x : memref<8xi32>, %v : i32, %i : index) grid(1) block(32) {
  %0 = cuda.atomic cas %v, %x[%i] : memref<8xi32>
}

// -----

// CHECK: 'cas' has a value to compare with, after 'if', and no other has
cuda.kernel @f(%x : memref<8xi32>, %v : i32, %i : index) grid(1) block(32) {
  %0 = cuda.atomic add %v if %v, %x[%i] : memref<8xi32>
}

// -----

cuda.kernel @f(%x : memref<8xf16>, %v : f16) grid(1) block(32) {
  %i = arith.constant 7 : index
  // CHECK: operand 'a' of red.global.add.noftz.f16x2, .bf16x2 is 2 contiguous elements, which memref<8xf16> does not have from 7
  cuda.atomic_pair %v, %v, %x[%i] : memref<8xf16>
}

// -----

cuda.kernel @f(%x : memref<8xf16, #cuda.space<local>>, %v : f16, %i : index) grid(1) block(32) {
  // CHECK: is in global memory, not memref<8xf16, #cuda.space<local>>
  cuda.atomic_pair %v, %v, %x[%i] : memref<8xf16, #cuda.space<local>>
}
