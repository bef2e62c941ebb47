// RUN: HIDET_VERIFY

cuda.kernel @f(%a : i32) grid(1) block(32) {
  // CHECK: a lookup table is 0 to 255, not 256
  %r = cuda.lop3 %a, %a, %a table 256
}
