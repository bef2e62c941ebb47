// RUN: hidet-opt %s -t cuda | filecheck %s

// CHECK-LABEL: // arithmetic
cuda.kernel @arithmetic(%a : i32, %b : i32, %x : f32, %y : memref<1xf32>, %z : memref<1xi32>) grid(1) block(1) attributes {cuda.formed} {
  %0 = arith.constant 0 : index
  %r = cuda.lop3 %a, %b, %a table 150
  %s = cuda.prmt %r, %b, %a
  %e = cuda.function "fast_exp2"(%x) : (f32) -> f32
  %f = cuda.function "fast_rcp"(%e) : (f32) -> f32
  %t = cuda.round_tf32 %f
  // CHECK: const unsigned r = hidet::lop3<0x96>(a, b, a);
  // CHECK-NEXT: const unsigned s = hidet::prmt(r, b, a);
  // CHECK-NEXT: const float e = hidet::fast_exp2(x);
  // CHECK-NEXT: const float f = hidet::fast_rcp(e);
  // CHECK-NEXT: const float t = hidet::round_tf32(f);
  memref.store %t, %y[%0] : memref<1xf32>
  memref.store %s, %z[%0] : memref<1xi32>
}

// CHECK-LABEL: // scalar_functions
cuda.kernel @scalar_functions(%a : i32, %x : f32, %y : memref<1xf32>) grid(1) block(1) attributes {cuda.formed} {
  %0 = arith.constant 0 : index
  %n = cuda.function "popc"(%a) : (i32) -> i32
  %s = cuda.function "funnelshift_rc"(%a, %n, %a) : (i32, i32, i32) -> i32
  %t = cuda.function "isfinite"(%x) : (f32) -> i1
  %h = cuda.function "ldexp"(%x, %s) : (f32, i32) -> f32
  %v = arith.select %t, %h, %x : f32
  %w = math.copysign %v, %x : f32
  // CHECK: const int n = hidet::popc(a);
  // CHECK-NEXT: const int s = hidet::funnelshift_rc(a, n, a);
  // CHECK-NEXT: const bool t = hidet::isfinite(x);
  // CHECK-NEXT: const float h = hidet::ldexp(x, s);
  // CHECK-NEXT: const float v = t ? h : x;
  // CHECK-NEXT: const float w = hidet::copysign(v, x);
  memref.store %w, %y[%0] : memref<1xf32>
}
