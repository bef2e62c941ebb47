// RUN: hidet-opt %s -t cuda | filecheck %s

// Functions are those of the device header, for float and double.

// CHECK-LABEL: functions(
cuda.kernel @functions(%a : f32, %b : f32, %i : i32) grid(1) block(1) attributes {cuda.formed} {
  // CHECK: const float v0 = hidet::abs(a);
  %v0 = math.absf %a : f32
  // CHECK: const float v1 = hidet::acos(a);
  %v1 = math.acos %a : f32
  // CHECK: const float v2 = hidet::asin(a);
  %v2 = math.asin %a : f32
  // CHECK: const float v3 = hidet::atan(a);
  %v3 = math.atan %a : f32
  // CHECK: const float v4 = hidet::ceil(a);
  %v4 = math.ceil %a : f32
  // CHECK: const float v5 = hidet::cos(a);
  %v5 = math.cos %a : f32
  // CHECK: const float v6 = hidet::cosh(a);
  %v6 = math.cosh %a : f32
  // CHECK: const float v7 = hidet::erf(a);
  %v7 = math.erf %a : f32
  // CHECK: const float v8 = hidet::exp(a);
  %v8 = math.exp %a : f32
  // CHECK: const float v9 = hidet::exp2(a);
  %v9 = math.exp2 %a : f32
  // CHECK: const float v10 = hidet::expm1(a);
  %v10 = math.expm1 %a : f32
  // CHECK: const float v11 = hidet::floor(a);
  %v11 = math.floor %a : f32
  // CHECK: const int power = hidet::ipow(i, i);
  %power = math.ipowi %i, %i : i32
  // CHECK: const float v12 = hidet::log(a);
  %v12 = math.log %a : f32
  // CHECK: const float v13 = hidet::log10(a);
  %v13 = math.log10 %a : f32
  // CHECK: const float v14 = hidet::log1p(a);
  %v14 = math.log1p %a : f32
  // CHECK: const float v15 = hidet::log2(a);
  %v15 = math.log2 %a : f32
  // CHECK: const float v16 = hidet::round(a);
  %v16 = math.roundeven %a : f32
  // CHECK: const float v17 = hidet::rsqrt(a);
  %v17 = math.rsqrt %a : f32
  // CHECK: const float v18 = hidet::sin(a);
  %v18 = math.sin %a : f32
  // CHECK: const float v19 = hidet::sinh(a);
  %v19 = math.sinh %a : f32
  // CHECK: const float v20 = hidet::sqrt(a);
  %v20 = math.sqrt %a : f32
  // CHECK: const float v21 = hidet::tan(a);
  %v21 = math.tan %a : f32
  // CHECK: const float v22 = hidet::tanh(a);
  %v22 = math.tanh %a : f32
  // CHECK: const float v23 = hidet::trunc(a);
  %v23 = math.trunc %a : f32
  // CHECK: const float v24 = hidet::acosh(a);
  %v24 = math.acosh %a : f32
  // CHECK: const float v25 = hidet::asinh(a);
  %v25 = math.asinh %a : f32
  // CHECK: const float v26 = hidet::atanh(a);
  %v26 = math.atanh %a : f32
  // CHECK: const float v27 = hidet::cbrt(a);
  %v27 = math.cbrt %a : f32
  // CHECK: const float w0 = hidet::atan2(a, b);
  %w0 = math.atan2 %a, %b : f32
  // CHECK: const float w1 = hidet::pow(a, b);
  %w1 = math.powf %a, %b : f32
  // CHECK: const float w2 = hidet::fma(a, b, 1.0f);
  %0 = arith.constant 1.0 : f32
  %w2 = math.fma %a, %b, %0 : f32
  // CHECK: const int w3 = hidet::abs(i);
  %w3 = math.absi %i : i32

  // An argument needs no parentheses.
  // CHECK: const float w4 = hidet::exp(a - b);
  %1 = arith.subf %a, %b : f32
  %w4 = math.exp %1 : f32
}
