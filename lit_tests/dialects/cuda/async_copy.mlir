// RUN: HIDET_ROUNDTRIP

// Copies from global to shared memory in the background.

// CHECK-LABEL: cuda.kernel @copy
cuda.kernel @copy(%x : memref<64x64xf16>, %y : memref<64xi8>, %i : index, %n : index) grid(1) block(32) {
  %s = memref.alloca() : memref<2x64xf16, #cuda.space<shared>>
  %t = memref.alloca() : memref<64xi8, #cuda.space<shared>>
  // CHECK: cuda.cp_async ca %x[%i, %i] to %s[%i, %i] width 2 : memref<64x64xf16> to memref<2x64xf16, #cuda.space<shared>>
  cuda.cp_async ca %x[%i, %i] to %s[%i, %i] width 2 : memref<64x64xf16> to memref<2x64xf16, #cuda.space<shared>>
  // CHECK-NEXT: cuda.cp_async ca %x[%i, %i] to %s[%i, %i] width 4 : memref<64x64xf16> to memref<2x64xf16, #cuda.space<shared>>
  cuda.cp_async ca %x[%i, %i] to %s[%i, %i] width 4 : memref<64x64xf16> to memref<2x64xf16, #cuda.space<shared>>
  // CHECK-NEXT: cuda.cp_async ca %x[%i, %i] to %s[%i, %i] width 8 : memref<64x64xf16> to memref<2x64xf16, #cuda.space<shared>>
  cuda.cp_async ca %x[%i, %i] to %s[%i, %i] width 8 : memref<64x64xf16> to memref<2x64xf16, #cuda.space<shared>>
  // CHECK-NEXT: cuda.cp_async cg %y[%i] to %t[%i] width 16 : memref<64xi8> to memref<64xi8, #cuda.space<shared>>
  cuda.cp_async cg %y[%i] to %t[%i] width 16 : memref<64xi8> to memref<64xi8, #cuda.space<shared>>
  // CHECK-NEXT: cuda.cp_async_commit
  cuda.cp_async_commit
  // CHECK-NEXT: cuda.cp_async cg %x[%i, %i] to %s[%i, %i] width 8 valid %n : memref<64x64xf16> to memref<2x64xf16, #cuda.space<shared>>
  cuda.cp_async cg %x[%i, %i] to %s[%i, %i] width 8 valid %n : memref<64x64xf16> to memref<2x64xf16, #cuda.space<shared>>
  // CHECK-NEXT: cuda.cp_async_commit
  cuda.cp_async_commit
  // CHECK-NEXT: cuda.cp_async_wait 1
  cuda.cp_async_wait 1
  // CHECK-NEXT: cuda.cp_async_wait 0
  cuda.cp_async_wait 0
}
