// RUN: HIDET_VERIFY

cuda.kernel @f(%i : index) grid(1) block(32) {
  %a = memref.alloca() : memref<8xf16, #cuda.space<local>>
  %c = memref.alloca() : memref<4xf32, #cuda.space<local>>
  // CHECK: there is no cuda.mma_sync 'm8n8k4_f16_f32', only m16n8k16_f16_f32, 
  cuda.mma_sync "m8n8k4_f16_f32" %a[%i], %a[%i], %c[%i] : memref<8xf16, #cuda.space<local>>, memref<8xf16, #cuda.space<local>>, memref<4xf32, #cuda.space<local>>
}

// -----

cuda.kernel @f(%i : index) grid(1) block(32) {
  %a = memref.alloca() : memref<8xf16, #cuda.space<local>>
  %c = memref.alloca() : memref<4xf32, #cuda.space<local>>
  // CHECK: operand 'a' of mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 has elements of f32, not memref<8xf16, #cuda.space<local>>
  cuda.mma_sync "m16n8k8_tf32_f32" %a[%i], %a[%i], %c[%i] : memref<8xf16, #cuda.space<local>>, memref<8xf16, #cuda.space<local>>, memref<4xf32, #cuda.space<local>>
}

// -----

cuda.kernel @f(%i : index) grid(1) block(32) {
  %a = memref.alloca() : memref<8xf16, #cuda.space<local>>
  %c = memref.alloca() : memref<4xf32, #cuda.space<local>>
  // CHECK: operand 'c' of mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 has elements of f16, not memref<4xf32
  cuda.mma_sync "m16n8k16_f16_f16" %a[%i], %a[%i], %c[%i] : memref<8xf16, #cuda.space<local>>, memref<8xf16, #cuda.space<local>>, memref<4xf32, #cuda.space<local>>
}

// -----

cuda.kernel @f(%i : index) grid(1) block(32) {
  %a = memref.alloca() : memref<8xf16, #cuda.space<local>>
  %c = memref.alloca() : memref<4xf32, #cuda.space<local>>
  // CHECK: 0 indices for memref<8xf16
  cuda.mma_sync "m16n8k16_f16_f32" %a[], %a[%i], %c[%i] : memref<8xf16, #cuda.space<local>>, memref<8xf16, #cuda.space<local>>, memref<4xf32, #cuda.space<local>>
}

// -----

cuda.kernel @f(%i : index, %c : memref<4xf32>) grid(1) block(32) {
  %a = memref.alloca() : memref<8xf16, #cuda.space<local>>
  // CHECK: operand 'c' of mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 is in local memory, not memref<4xf32>
  cuda.mma_sync "m16n8k16_bf16_f32" %a[%i], %a[%i], %c[%i] : memref<8xf16, #cuda.space<local>>, memref<8xf16, #cuda.space<local>>, memref<4xf32>
}

// -----

cuda.kernel @f(%i : index) grid(1) block(32) {
  %0 = arith.constant 2 : index
  %a = memref.alloca() : memref<8xf16, #cuda.space<local>>
  %c = memref.alloca() : memref<4xf32, #cuda.space<local>>
  // CHECK: operand 'a' of mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 is 8 contiguous elements, which memref<8xf16, #cuda.space<local>> does not have from 2
  cuda.mma_sync "m16n8k16_f16_f32" %a[%0], %a[%i], %c[%i] : memref<8xf16, #cuda.space<local>>, memref<8xf16, #cuda.space<local>>, memref<4xf32, #cuda.space<local>>
}

// -----

cuda.kernel @f(%i : index) grid(1) block(32) {
  %s = memref.alloca() : memref<8x8xf16, #cuda.space<shared>>
  %a = memref.alloca() : memref<8xf16, #cuda.space<local>>
  // CHECK: ldmatrix loads 1, 2 or 4 matrices, not 3
  cuda.ldmatrix %s[%i, %i] to %a[%i] count 3 : memref<8x8xf16, #cuda.space<shared>> to memref<8xf16, #cuda.space<local>>
}

// -----

cuda.kernel @f(%i : index) grid(1) block(32) {
  %a = memref.alloca() : memref<8xf16, #cuda.space<local>>
  // CHECK: operand 'p' of ldmatrix.sync.aligned.m8n8.x4.shared.b16 is in shared memory, not memref<8xf16, #cuda.space<local>>
  cuda.ldmatrix %a[%i] to %a[%i] count 4 : memref<8xf16, #cuda.space<local>> to memref<8xf16, #cuda.space<local>>
}

// -----

cuda.kernel @f(%i : index) grid(1) block(32) {
  %s = memref.alloca() : memref<8x8xf16, #cuda.space<shared>>
  %a = memref.alloca() : memref<4xf16, #cuda.space<local>>
  // CHECK: operand 'r' of ldmatrix.sync.aligned.m8n8.x4.shared.b16 is 8 contiguous elements, which memref<4xf16
  cuda.ldmatrix %s[%i, %i] to %a[%i] count 4 : memref<8x8xf16, #cuda.space<shared>> to memref<4xf16, #cuda.space<local>>
}

// -----

cuda.kernel @f(%i : index) grid(1) block(32) {
  %s = memref.alloca() : memref<8x8xf16, #cuda.space<shared>>
  %a = memref.alloca() : memref<8xbf16, #cuda.space<local>>
  // CHECK: cannot copy elements of memref<8x8xf16, #cuda.space<shared>> to memref<8xbf16
  cuda.ldmatrix %s[%i, %i] to %a[%i] count 4 : memref<8x8xf16, #cuda.space<shared>> to memref<8xbf16, #cuda.space<local>>
}

// -----

cuda.kernel @f(%i : index) grid(1) block(32) {
  %s = memref.alloca() : memref<8x8xf32, #cuda.space<shared>>
  %a = memref.alloca() : memref<8xf32, #cuda.space<local>>
  // CHECK: ldmatrix transposes elements of 16 bits, not f32
  cuda.ldmatrix %s[%i, %i] to %a[%i] count 4 trans : memref<8x8xf32, #cuda.space<shared>> to memref<8xf32, #cuda.space<local>>
}
