// RUN: HIDET_ROUNDTRIP

// CHECK: a = #cuda<packed_function add>
"test.op"() {a = #cuda<packed_function add>} : () -> ()

// CHECK-LABEL: cuda.kernel @arithmetic
cuda.kernel @arithmetic(%a : i32, %b : i32, %x : f32) grid(1) block(32) {
  // CHECK:      %r = cuda.lop3 %a, %b, %a table 232
  %r = cuda.lop3 %a, %b, %a table 232
  // CHECK-NEXT: %s = cuda.prmt %r, %b, %a
  %s = cuda.prmt %r, %b, %a
  // CHECK-NEXT: %y = cuda.function "fast_exp2"(%x) : (f32) -> f32
  %y = cuda.function "fast_exp2"(%x) : (f32) -> f32
  // CHECK-NEXT: %z = cuda.function "fast_tanh"(%y) : (f32) -> f32
  %z = cuda.function "fast_tanh"(%y) : (f32) -> f32
  // CHECK-NEXT: %t = cuda.round_tf32 %z
  %t = cuda.round_tf32 %z
}
