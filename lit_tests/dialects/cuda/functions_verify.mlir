// RUN: HIDET_VERIFY

cuda.kernel @f(%x : f32) grid(1) block(32) {
  // CHECK: there is no cuda.function 'twice', only popc, clz, ffs, brev
  %y = cuda.function "twice"(%x) : (f32) -> f32
}

// -----

cuda.kernel @f(%x : f32) grid(1) block(32) {
  // CHECK: 'popc' is of type (i32) -> i32 or (i64) -> i32
  %y = cuda.function "popc"(%x) : (f32) -> i32
}

// -----

cuda.kernel @f(%x : f32, %z : f64) grid(1) block(32) {
  // CHECK: 'hypot' is of type (f32, f32) -> f32 or (f64, f64) -> f64
  %y = cuda.function "hypot"(%x, %z) : (f32, f64) -> f64
}

// -----

cuda.kernel @f(%a : i64) grid(1) block(32) {
  // CHECK: 'funnelshift_l' is of type (i32, i32, i32) -> i32
  %y = cuda.function "funnelshift_l"(%a, %a, %a) : (i64, i64, i64) -> i64
}
