// RUN: HIDET_ROUNDTRIP

// CHECK: a = #cuda<fast_function rsqrt>
"test.op"() {a = #cuda<fast_function rsqrt>} : () -> ()

// CHECK-LABEL: cuda.kernel @arithmetic
cuda.kernel @arithmetic(%a : i32, %b : i32, %x : f32) grid(1) block(32) {
  // CHECK:      %r = cuda.lop3 %a, %b, %a table 232
  %r = cuda.lop3 %a, %b, %a table 232
  // CHECK-NEXT: %s = cuda.prmt %r, %b, %a
  %s = cuda.prmt %r, %b, %a
  // CHECK-NEXT: %y = cuda.fast exp2 %x
  %y = cuda.fast exp2 %x
  // CHECK-NEXT: %z = cuda.fast tanh %y
  %z = cuda.fast tanh %y
  // CHECK-NEXT: %t = cuda.round_tf32 %z
  %t = cuda.round_tf32 %z
}
