// RUN: HIDET_ROUNDTRIP

// Products of a warp: fragments are neighbouring elements of local arrays.

// CHECK-LABEL: cuda.kernel @mma
cuda.kernel @mma(%i : index) grid(1) block(32) {
  %a_f16 = memref.alloca() : memref<2x8xf16, #cuda.space<local>>
  %b_f16 = memref.alloca() : memref<2x8xf16, #cuda.space<local>>
  %c_f32 = memref.alloca() : memref<2x8xf32, #cuda.space<local>>
  %c_f16 = memref.alloca() : memref<2x8xf16, #cuda.space<local>>
  %a_bf16 = memref.alloca() : memref<2x8xbf16, #cuda.space<local>>
  %b_bf16 = memref.alloca() : memref<2x8xbf16, #cuda.space<local>>
  %a_f32 = memref.alloca() : memref<2x8xf32, #cuda.space<local>>
  %b_f32 = memref.alloca() : memref<2x8xf32, #cuda.space<local>>
  // CHECK: cuda.mma_sync "m16n8k16_f16_f32" %a_f16[%i, %i], %b_f16[%i, %i], %c_f32[%i, %i] : memref<2x8xf16, #cuda.space<local>>, memref<2x8xf16, #cuda.space<local>>, memref<2x8xf32, #cuda.space<local>>
  cuda.mma_sync "m16n8k16_f16_f32" %a_f16[%i, %i], %b_f16[%i, %i], %c_f32[%i, %i] : memref<2x8xf16, #cuda.space<local>>, memref<2x8xf16, #cuda.space<local>>, memref<2x8xf32, #cuda.space<local>>
  // CHECK-NEXT: cuda.mma_sync "m16n8k16_f16_f16" %a_f16[%i, %i], %b_f16[%i, %i], %c_f16[%i, %i] : memref<2x8xf16, #cuda.space<local>>, memref<2x8xf16, #cuda.space<local>>, memref<2x8xf16, #cuda.space<local>>
  cuda.mma_sync "m16n8k16_f16_f16" %a_f16[%i, %i], %b_f16[%i, %i], %c_f16[%i, %i] : memref<2x8xf16, #cuda.space<local>>, memref<2x8xf16, #cuda.space<local>>, memref<2x8xf16, #cuda.space<local>>
  // CHECK-NEXT: cuda.mma_sync "m16n8k16_bf16_f32" %a_bf16[%i, %i], %b_bf16[%i, %i], %c_f32[%i, %i] : memref<2x8xbf16, #cuda.space<local>>, memref<2x8xbf16, #cuda.space<local>>, memref<2x8xf32, #cuda.space<local>>
  cuda.mma_sync "m16n8k16_bf16_f32" %a_bf16[%i, %i], %b_bf16[%i, %i], %c_f32[%i, %i] : memref<2x8xbf16, #cuda.space<local>>, memref<2x8xbf16, #cuda.space<local>>, memref<2x8xf32, #cuda.space<local>>
  // CHECK-NEXT: cuda.mma_sync "m16n8k8_f16_f32" %a_f16[%i, %i], %b_f16[%i, %i], %c_f32[%i, %i] : memref<2x8xf16, #cuda.space<local>>, memref<2x8xf16, #cuda.space<local>>, memref<2x8xf32, #cuda.space<local>>
  cuda.mma_sync "m16n8k8_f16_f32" %a_f16[%i, %i], %b_f16[%i, %i], %c_f32[%i, %i] : memref<2x8xf16, #cuda.space<local>>, memref<2x8xf16, #cuda.space<local>>, memref<2x8xf32, #cuda.space<local>>
  // CHECK-NEXT: cuda.mma_sync "m16n8k8_f16_f16" %a_f16[%i, %i], %b_f16[%i, %i], %c_f16[%i, %i] : memref<2x8xf16, #cuda.space<local>>, memref<2x8xf16, #cuda.space<local>>, memref<2x8xf16, #cuda.space<local>>
  cuda.mma_sync "m16n8k8_f16_f16" %a_f16[%i, %i], %b_f16[%i, %i], %c_f16[%i, %i] : memref<2x8xf16, #cuda.space<local>>, memref<2x8xf16, #cuda.space<local>>, memref<2x8xf16, #cuda.space<local>>
  // CHECK-NEXT: cuda.mma_sync "m16n8k8_bf16_f32" %a_bf16[%i, %i], %b_bf16[%i, %i], %c_f32[%i, %i] : memref<2x8xbf16, #cuda.space<local>>, memref<2x8xbf16, #cuda.space<local>>, memref<2x8xf32, #cuda.space<local>>
  cuda.mma_sync "m16n8k8_bf16_f32" %a_bf16[%i, %i], %b_bf16[%i, %i], %c_f32[%i, %i] : memref<2x8xbf16, #cuda.space<local>>, memref<2x8xbf16, #cuda.space<local>>, memref<2x8xf32, #cuda.space<local>>
  // CHECK-NEXT: cuda.mma_sync "m16n8k8_tf32_f32" %a_f32[%i, %i], %b_f32[%i, %i], %c_f32[%i, %i] : memref<2x8xf32, #cuda.space<local>>, memref<2x8xf32, #cuda.space<local>>, memref<2x8xf32, #cuda.space<local>>
  cuda.mma_sync "m16n8k8_tf32_f32" %a_f32[%i, %i], %b_f32[%i, %i], %c_f32[%i, %i] : memref<2x8xf32, #cuda.space<local>>, memref<2x8xf32, #cuda.space<local>>, memref<2x8xf32, #cuda.space<local>>
  // CHECK-NEXT: cuda.mma_sync "m16n8k4_tf32_f32" %a_f32[%i, %i], %b_f32[%i, %i], %c_f32[%i, %i] : memref<2x8xf32, #cuda.space<local>>, memref<2x8xf32, #cuda.space<local>>, memref<2x8xf32, #cuda.space<local>>
  cuda.mma_sync "m16n8k4_tf32_f32" %a_f32[%i, %i], %b_f32[%i, %i], %c_f32[%i, %i] : memref<2x8xf32, #cuda.space<local>>, memref<2x8xf32, #cuda.space<local>>, memref<2x8xf32, #cuda.space<local>>
}

// Matrices from shared memory.

// CHECK-LABEL: cuda.kernel @ldmatrix
cuda.kernel @ldmatrix(%i : index) grid(1) block(32) {
  %s = memref.alloca() : memref<16x16xf16, #cuda.space<shared>>
  %t = memref.alloca() : memref<16x16xi8, #cuda.space<shared>>
  %r = memref.alloca() : memref<2x8xf16, #cuda.space<local>>
  %q = memref.alloca() : memref<16xi8, #cuda.space<local>>
  // CHECK: cuda.ldmatrix %s[%i, %i] to %r[%i, %i] count 1 : memref<16x16xf16, #cuda.space<shared>> to memref<2x8xf16, #cuda.space<local>>
  cuda.ldmatrix %s[%i, %i] to %r[%i, %i] count 1 : memref<16x16xf16, #cuda.space<shared>> to memref<2x8xf16, #cuda.space<local>>
  // CHECK-NEXT: cuda.ldmatrix %s[%i, %i] to %r[%i, %i] count 1 trans : memref<16x16xf16, #cuda.space<shared>> to memref<2x8xf16, #cuda.space<local>>
  cuda.ldmatrix %s[%i, %i] to %r[%i, %i] count 1 trans : memref<16x16xf16, #cuda.space<shared>> to memref<2x8xf16, #cuda.space<local>>
  // CHECK-NEXT: cuda.ldmatrix %s[%i, %i] to %r[%i, %i] count 2 : memref<16x16xf16, #cuda.space<shared>> to memref<2x8xf16, #cuda.space<local>>
  cuda.ldmatrix %s[%i, %i] to %r[%i, %i] count 2 : memref<16x16xf16, #cuda.space<shared>> to memref<2x8xf16, #cuda.space<local>>
  // CHECK-NEXT: cuda.ldmatrix %s[%i, %i] to %r[%i, %i] count 2 trans : memref<16x16xf16, #cuda.space<shared>> to memref<2x8xf16, #cuda.space<local>>
  cuda.ldmatrix %s[%i, %i] to %r[%i, %i] count 2 trans : memref<16x16xf16, #cuda.space<shared>> to memref<2x8xf16, #cuda.space<local>>
  // CHECK-NEXT: cuda.ldmatrix %s[%i, %i] to %r[%i, %i] count 4 : memref<16x16xf16, #cuda.space<shared>> to memref<2x8xf16, #cuda.space<local>>
  cuda.ldmatrix %s[%i, %i] to %r[%i, %i] count 4 : memref<16x16xf16, #cuda.space<shared>> to memref<2x8xf16, #cuda.space<local>>
  // CHECK-NEXT: cuda.ldmatrix %s[%i, %i] to %r[%i, %i] count 4 trans : memref<16x16xf16, #cuda.space<shared>> to memref<2x8xf16, #cuda.space<local>>
  cuda.ldmatrix %s[%i, %i] to %r[%i, %i] count 4 trans : memref<16x16xf16, #cuda.space<shared>> to memref<2x8xf16, #cuda.space<local>>
  // CHECK-NEXT: cuda.ldmatrix %t[%i, %i] to %q[%i] count 4 : memref<16x16xi8, #cuda.space<shared>> to memref<16xi8, #cuda.space<local>>
  cuda.ldmatrix %t[%i, %i] to %q[%i] count 4 : memref<16x16xi8, #cuda.space<shared>> to memref<16xi8, #cuda.space<local>>
}
