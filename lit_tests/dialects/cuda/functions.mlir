// RUN: HIDET_ROUNDTRIP

// CHECK-LABEL: cuda.kernel @functions
cuda.kernel @functions(%a : i32, %b : i64, %x : f32, %z : f64) grid(1) block(32) {
  // CHECK:      %n = cuda.function "popc"(%a) : (i32) -> i32
  %n = cuda.function "popc"(%a) : (i32) -> i32
  // CHECK-NEXT: %m = cuda.function "clz"(%b) : (i64) -> i32
  %m = cuda.function "clz"(%b) : (i64) -> i32
  // CHECK-NEXT: %r = cuda.function "brev"(%b) : (i64) -> i64
  %r = cuda.function "brev"(%b) : (i64) -> i64
  // CHECK-NEXT: %s = cuda.function "funnelshift_l"(%a, %n, %m) : (i32, i32, i32) -> i32
  %s = cuda.function "funnelshift_l"(%a, %n, %m) : (i32, i32, i32) -> i32
  // CHECK-NEXT: %t = cuda.function "isnan"(%x) : (f32) -> i1
  %t = cuda.function "isnan"(%x) : (f32) -> i1
  // CHECK-NEXT: %h = cuda.function "hypot"(%z, %z) : (f64, f64) -> f64
  %h = cuda.function "hypot"(%z, %z) : (f64, f64) -> f64
  // CHECK-NEXT: %l = cuda.function "ldexp"(%h, %a) : (f64, i32) -> f64
  %l = cuda.function "ldexp"(%h, %a) : (f64, i32) -> f64
}
