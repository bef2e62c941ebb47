// RUN: hidet-opt %s -t cuda | filecheck %s

// A literal has exactly the value and the type of the constant; floats have the fewest digits that
// read back as the same number.

// CHECK-LABEL: literals(
cuda.kernel @literals(%b : memref<1xi1>, %c : memref<1xi8>, %s : memref<1xi16>, %i : memref<1xi32>, %l : memref<1xi64>, %h : memref<1xf16>, %e : memref<1xbf16>, %f : memref<1xf32>, %d : memref<1xf64>) grid(1) block(1) attributes {cuda.formed} {
  %0 = arith.constant 0 : index
  // CHECK: b[0] = true;
  %1 = arith.constant true
  memref.store %1, %b[%0] : memref<1xi1>
  // CHECK: b[0] = false;
  %2 = arith.constant false
  memref.store %2, %b[%0] : memref<1xi1>
  // CHECK: c[0] = hidet::cast<signed char>(-5);
  %3 = arith.constant -5 : i8
  memref.store %3, %c[%0] : memref<1xi8>
  // CHECK: s[0] = hidet::cast<short>(300);
  %4 = arith.constant 300 : i16
  memref.store %4, %s[%0] : memref<1xi16>
  // CHECK: i[0] = 2147483647;
  %5 = arith.constant 2147483647 : i32
  memref.store %5, %i[%0] : memref<1xi32>
  // CHECK: i[0] = -2147483647 - 1;
  %6 = arith.constant -2147483648 : i32
  memref.store %6, %i[%0] : memref<1xi32>
  // CHECK: l[0] = -3LL;
  %7 = arith.constant -3 : i64
  memref.store %7, %l[%0] : memref<1xi64>
  // CHECK: l[0] = -9223372036854775807LL - 1;
  %8 = arith.constant -9223372036854775808 : i64
  memref.store %8, %l[%0] : memref<1xi64>
  // CHECK: h[0] = hidet::cast<hidet::half>(1.5f);
  %9 = arith.constant 1.5 : f16
  memref.store %9, %h[%0] : memref<1xf16>
  // CHECK: h[0] = hidet::cast<hidet::half>(-INFINITY);
  %10 = arith.constant 0xFC00 : f16
  memref.store %10, %h[%0] : memref<1xf16>
  // CHECK: e[0] = hidet::cast<hidet::bfloat16>(0.5f);
  %11 = arith.constant 0.5 : bf16
  memref.store %11, %e[%0] : memref<1xbf16>
  // CHECK: f[0] = 1.0f;
  %12 = arith.constant 1.0 : f32
  memref.store %12, %f[%0] : memref<1xf32>
  // CHECK: f[0] = 0.1f;
  %13 = arith.constant 0.1 : f32
  memref.store %13, %f[%0] : memref<1xf32>
  // CHECK: f[0] = -0.0f;
  %14 = arith.constant -0.0 : f32
  memref.store %14, %f[%0] : memref<1xf32>
  // CHECK: f[0] = 1e-5f;
  %15 = arith.constant 1.0e-5 : f32
  memref.store %15, %f[%0] : memref<1xf32>
  // CHECK: f[0] = 3.4028235e38f;
  %16 = arith.constant 3.4028234663852886e+38 : f32
  memref.store %16, %f[%0] : memref<1xf32>
  // CHECK: f[0] = INFINITY;
  %17 = arith.constant 0x7F800000 : f32
  memref.store %17, %f[%0] : memref<1xf32>
  // CHECK: f[0] = -INFINITY;
  %18 = arith.constant 0xFF800000 : f32
  memref.store %18, %f[%0] : memref<1xf32>
  // CHECK: f[0] = NAN;
  %19 = arith.constant 0x7FC00000 : f32
  memref.store %19, %f[%0] : memref<1xf32>
  // CHECK: d[0] = 0.1;
  %20 = arith.constant 0.1 : f64
  memref.store %20, %d[%0] : memref<1xf64>
  // CHECK: d[0] = hidet::cast<double>(INFINITY);
  %21 = arith.constant 0x7FF0000000000000 : f64
  memref.store %21, %d[%0] : memref<1xf64>
}
