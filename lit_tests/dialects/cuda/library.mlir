// RUN: HIDET_ROUNDTRIP

// CHECK-LABEL: cuda.kernel @library
cuda.kernel @library(%x : f32, %y : f64) grid(1) block(32) {
  // CHECK: %a = cuda.erfc %x : f32
  %a = cuda.erfc %x : f32
  // CHECK-NEXT: %b = cuda.fmod %y, %y : f64
  %b = cuda.fmod %y, %y : f64
}
