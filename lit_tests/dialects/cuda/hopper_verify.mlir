// RUN: HIDET_VERIFY

cuda.kernel @f(%i : index) grid(1) block(128) {
  %s = memref.alloca() : memref<64xf16, #cuda.space<shared>>
  // CHECK: a matrix is swizzled in spans of 0, 32, 64, 128 bytes, not 16
  %a = cuda.matrix_descriptor %s[%i] leading 16 stride 1024 swizzle 16 : memref<64xf16, #cuda.space<shared>>
}

// -----

cuda.kernel @f(%i : index) grid(1) block(128) {
  %s = memref.alloca() : memref<64xf16, #cuda.space<shared>>
  // CHECK: distances in a matrix are multiples of 16 bytes below 2^18, not 24
  %a = cuda.matrix_descriptor %s[%i] leading 16 stride 24 swizzle 128 : memref<64xf16, #cuda.space<shared>>
}

// -----

cuda.kernel @f(%s : memref<64xf16>, %i : index) grid(1) block(128) {
  // CHECK: is in shared memory, not memref<64xf16>
  %a = cuda.matrix_descriptor %s[%i] leading 16 stride 1024 swizzle 128 : memref<64xf16>
}

// -----

cuda.kernel @f(%a : i64, %i : index, %p : i1) grid(1) block(128) {
  %d = memref.alloca() : memref<32xf32, #cuda.space<local>>
  // CHECK: there is no cuda.wgmma 'm64n12k16_f16_f32', only m64n8k16_f16_f32, m64n16k16_f16_f32,
  cuda.wgmma "m64n12k16_f16_f32" %a, %a, %d[%i] accumulate %p : memref<32xf32, #cuda.space<local>>
}

// -----

cuda.kernel @f(%a : i64, %i : index, %p : i1) grid(1) block(128) {
  %d = memref.alloca() : memref<32xf32, #cuda.space<local>>
  // CHECK: operand 'd' of wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 is 64 contiguous elements
  cuda.wgmma "m64n128k16_f16_f32" %a, %a, %d[%i] accumulate %p : memref<32xf32, #cuda.space<local>>
}

// -----

cuda.kernel @f() grid(1) block(128) {
  // CHECK: at most 7 groups may be in flight, not 8
  cuda.wgmma_wait 8
}

// -----

cuda.kernel @f() grid(1) block(128) {
  // CHECK: -1 groups cannot be in flight
  cuda.tma_wait -1
}

// -----

cuda.kernel @f(%i : index) grid(1) block(128) {
  %d = memref.alloca() : memref<32xf32, #cuda.space<local>>
  // CHECK: is 64 contiguous elements, which memref<32xf32, #cuda.space<local>> does not have from 0
  cuda.wgmma_fence_operand %d[%i] count 64 : memref<32xf32, #cuda.space<local>>
}

// -----

cuda.kernel @f(%i : index, %n : i32) grid(1) block(128) {
  %b = memref.alloca() : memref<4xi32, #cuda.space<shared>>
  // CHECK: operand 'bar' of mbarrier.init.shared::cta.b64 has elements of i64, not memref<4xi32
  cuda.mbarrier_init %b[%i] count %n : memref<4xi32, #cuda.space<shared>>
}

// -----

cuda.kernel @f(%map : !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>, %i : index) grid(1) block(128) {
  %s = memref.alloca() : memref<64xf16, #cuda.space<shared>>
  // CHECK: tensors of rank 1 to 5 are copied, not of rank 0
  cuda.tma_store %s[%i] to %map() : memref<64xf16, #cuda.space<shared>>, !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>
}

// -----

cuda.kernel @f(%n : i32) grid(1) block(128) {
  // CHECK: a barrier is for whole warps of a block, not 33 threads
  cuda.barrier_sync %n count 33
}

// -----

cuda.kernel @f(%n : i32) grid(1) block(128) {
  // CHECK: a barrier is for whole warps of a block, not 2048 threads
  cuda.barrier_arrive %n count 2048
}

// -----

cuda.kernel @f() grid(1) block(128) {
  // CHECK: there is no cuda.setmaxnreg 'set', only inc, dec
  cuda.setmaxnreg "set" 40
}

// -----

cuda.kernel @f() grid(1) block(128) {
  // CHECK: a thread has 24, 32, ... 256 registers, not 42
  cuda.setmaxnreg "dec" 42
}

// -----

// CHECK: clusters of (2, 2, 1) blocks in a grid of (4, 3, 1)
cuda.kernel @f() grid(4, 3) block(32) attributes {cuda.cluster = array<i64: 2, 2, 1>} {
}

// -----

// CHECK: up to 16 blocks are one
cuda.kernel @f() grid(64) block(32) attributes {cuda.cluster = array<i64: 32, 1, 1>} {
}

// -----

cuda.kernel @f(%map : !cuda.tensor_map<tensor<8x14x14x64xf16>, box [128, 64], pixels [0, 0] to [13, 13] step [1, 1], swizzle 128>, %i : index, %n : i32) grid(1) block(128) {
  %s = memref.alloca() : memref<128x64xf16, #cuda.space<shared>>
  %b = memref.alloca() : memref<4xi64, #cuda.space<shared>>
  // CHECK: an offset of 0 numbers, from !cuda.tensor_map<tensor<8x14x14x64xf16>
  cuda.tma_load %map(%n, %n, %n, %n) to %s[%i, %i] barrier %b[%i] : memref<128x64xf16, #cuda.space<shared>>, memref<4xi64, #cuda.space<shared>>, !cuda.tensor_map<tensor<8x14x14x64xf16>, box [128, 64], pixels [0, 0] to [13, 13] step [1, 1], swizzle 128>
}

// -----

cuda.kernel @f(%map : !cuda.tensor_map<tensor<8x14x14x64xf16>, box [128, 64], pixels [0, 0] to [13, 13] step [1, 1], swizzle 128>, %i : index, %n : i32) grid(1) block(128) {
  %s = memref.alloca() : memref<128x64xf16, #cuda.space<shared>>
  %b = memref.alloca() : memref<4xi64, #cuda.space<shared>>
  // CHECK: an offset of 2 numbers, from !cuda.tensor_map<tensor<8x14x14x64xf16>
  cuda.tma_load %map(%n, %n, %n, %n) offset(%n, %n) to %s[%i, %i] barrier %b[%i] blocks %n : memref<128x64xf16, #cuda.space<shared>>, memref<4xi64, #cuda.space<shared>>, !cuda.tensor_map<tensor<8x14x14x64xf16>, box [128, 64], pixels [0, 0] to [13, 13] step [1, 1], swizzle 128>
}

// -----

cuda.kernel @f(%map : !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>, %i : index, %n : i32) grid(1) block(128) {
  %s = memref.alloca() : memref<128x64xf16, #cuda.space<shared>>
  %b = memref.alloca() : memref<4xi64, #cuda.space<shared>>
  // CHECK: tensors of rank 3 to 5 are copied, not of rank 2
  cuda.tma_load %map(%n, %n) offset(%n) to %s[%i, %i] barrier %b[%i] : memref<128x64xf16, #cuda.space<shared>>, memref<4xi64, #cuda.space<shared>>, !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>
}

// -----

cuda.kernel @f(%map : !cuda.tensor_map<tensor<8x14x14x64xf16>, box [128, 64], pixels [0, 0] to [13, 13] step [1, 1], swizzle 128>, %i : index, %n : i32) grid(1) block(128) {
  %s = memref.alloca() : memref<128x64xf16, #cuda.space<shared>>
  %b = memref.alloca() : memref<4xi64, #cuda.space<shared>>
  // CHECK: boxes are stored, not pixels
  cuda.tma_store %s[%i, %i] to %map(%n, %n, %n, %n) : memref<128x64xf16, #cuda.space<shared>>, !cuda.tensor_map<tensor<8x14x14x64xf16>, box [128, 64], pixels [0, 0] to [13, 13] step [1, 1], swizzle 128>
}

// -----

cuda.kernel @fragment(%i : index, %a : i64, %p : i1) grid(1) block(128) {
  %d = memref.alloca() : memref<64xf32, #cuda.space<local>>
  %f = memref.alloca() : memref<4xf16, #cuda.space<local>>
  // CHECK: operand 'a' of wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 is 8 contiguous elements
  cuda.wgmma_rs "m64n128k16_f16_f32" %f[%i], %a, %d[%i] accumulate %p : memref<4xf16, #cuda.space<local>>, memref<64xf32, #cuda.space<local>>
}

// -----

cuda.kernel @f(%x : memref<4xf32>, %n : i32) grid(2) block(32) attributes {cuda.cluster = array<i64: 2, 1, 1>} {
  // CHECK: a whole array in shared memory is mapped, unlike memref<4xf32>
  %a = cuda.map_shared_rank %x, %n : memref<4xf32>
}
