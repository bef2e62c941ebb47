// RUN: HIDET_ROUNDTRIP

// Shared memory whose size the launch states.

// CHECK-LABEL: cuda.kernel @parts() grid(1) block(128) attributes {shared_bytes = 66560 : i64} {
cuda.kernel @parts() grid(1) block(128) attributes {shared_bytes = 66560 : i64} {
  // CHECK-NEXT: %a = cuda.dynamic_shared offset 0 : memref<4x128x64xf16, #cuda.space<shared>>
  %a = cuda.dynamic_shared offset 0 : memref<4x128x64xf16, #cuda.space<shared>>
  // CHECK-NEXT: %b = cuda.dynamic_shared offset 65536 : memref<f32, #cuda.space<shared>>
  %b = cuda.dynamic_shared offset 65536 : memref<f32, #cuda.space<shared>>
}
