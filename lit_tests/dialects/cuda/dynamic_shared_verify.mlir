// RUN: HIDET_VERIFY

cuda.kernel @f() grid(1) block(128) {
  // CHECK: a part of shared memory has a known size there, unlike memref<4xf16>
  %a = cuda.dynamic_shared offset 0 : memref<4xf16>
}

// -----

cuda.kernel @f() grid(1) block(128) {
  // CHECK: a part of shared memory has a known size there, unlike memref<?xf16, #cuda.space<shared>>
  %a = cuda.dynamic_shared offset 0 : memref<?xf16, #cuda.space<shared>>
}

// -----

cuda.kernel @f() grid(1) block(128) {
  // CHECK: elements of memref<4xindex, #cuda.space<shared>> have no size
  %a = cuda.dynamic_shared offset 0 : memref<4xindex, #cuda.space<shared>>
}

// -----

cuda.kernel @f() grid(1) block(128) {
  // CHECK: 6 bytes is no valid offset for elements of 4 bytes
  %a = cuda.dynamic_shared offset 6 : memref<4xf32, #cuda.space<shared>>
}
