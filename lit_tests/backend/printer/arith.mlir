// RUN: hidet-opt %s -t cuda | filecheck %s

// A value without a name is written where it is used; one with a name is declared.

// CHECK-LABEL: floats(
cuda.kernel @floats(%a : f32, %b : f32, %x : memref<64xf32>) grid(1) block(1) attributes {cuda.formed} {
  %0 = arith.constant 0 : index

  // Parentheses stand where the grouping needs them: operators group from the left.
  // CHECK: x[0] = a + b - a;
  %1 = arith.addf %a, %b : f32
  %2 = arith.subf %1, %a : f32
  memref.store %2, %x[%0] : memref<64xf32>
  // CHECK: x[0] = a - (a + b);
  %3 = arith.addf %a, %b : f32
  %4 = arith.subf %a, %3 : f32
  memref.store %4, %x[%0] : memref<64xf32>
  // CHECK: x[0] = (a + b) * (a - b);
  %5 = arith.addf %a, %b : f32
  %6 = arith.subf %a, %b : f32
  %7 = arith.mulf %5, %6 : f32
  memref.store %7, %x[%0] : memref<64xf32>
  // CHECK: x[0] = a / (b / a) + a * b;
  %8 = arith.divf %b, %a : f32
  %9 = arith.divf %a, %8 : f32
  %10 = arith.mulf %a, %b : f32
  %11 = arith.addf %9, %10 : f32
  memref.store %11, %x[%0] : memref<64xf32>
  // CHECK: x[0] = -(-a) - (-a + b);
  %12 = arith.negf %a : f32
  %13 = arith.negf %12 : f32
  %14 = arith.negf %a : f32
  %15 = arith.addf %14, %b : f32
  %16 = arith.subf %13, %15 : f32
  memref.store %16, %x[%0] : memref<64xf32>

  // Adding a negative number is a subtraction.
  // CHECK: x[0] = a - 0.5f;
  %17 = arith.constant -0.5 : f32
  %18 = arith.addf %a, %17 : f32
  memref.store %18, %x[%0] : memref<64xf32>
  // CHECK: x[0] = a + b;
  %19 = arith.negf %b : f32
  %20 = arith.subf %a, %19 : f32
  memref.store %20, %x[%0] : memref<64xf32>

  // CHECK: const float larger = hidet::maximum(a, hidet::minimum(b, 1.0f));
  %21 = arith.constant 1.0 : f32
  %22 = arith.minimumf %b, %21 : f32
  %larger = arith.maximumf %a, %22 : f32
  // CHECK: x[0] = hidet::fmax(larger, hidet::fmin(b, 1.0f));
  %23 = arith.minnumf %b, %21 : f32
  %24 = arith.maxnumf %larger, %23 : f32
  memref.store %24, %x[%0] : memref<64xf32>
}

// CHECK-LABEL: integers(
cuda.kernel @integers(%i : i32, %j : i32, %x : memref<64xi32>) grid(1) block(1) attributes {cuda.formed} {
  %0 = arith.constant 0 : index
  %4 = arith.constant 4 : i32
  // Integers wrap around, which in C++ unsigned ones do.
  // CHECK: x[0] = i * 4u + j - 4;
  %1 = arith.muli %i, %4 : i32
  %2 = arith.addi %1, %j : i32
  %3 = arith.subi %2, %4 : i32
  memref.store %3, %x[%0] : memref<64xi32>
  // Where no overflow happens they may stay what they are.
  // CHECK: x[0] = i * j + 4;
  %101 = arith.muli %i, %j overflow<nsw> : i32
  %102 = arith.addi %101, %4 overflow<nsw> : i32
  memref.store %102, %x[%0] : memref<64xi32>
  // A divisor that may be 0, or -1, is nothing for C++.
  // CHECK: x[0] = hidet::remainder(i / 4, j);
  %5 = arith.divsi %i, %4 : i32
  %6 = arith.remsi %5, %j : i32
  memref.store %6, %x[%0] : memref<64xi32>
  // CHECK: x[0] = i / (4 % j);
  %7 = arith.remsi %4, %j {cuda.safe} : i32
  %8 = arith.divsi %i, %7 {cuda.safe} : i32
  memref.store %8, %x[%0] : memref<64xi32>
  // CHECK: x[0] = hidet::cast<unsigned>(i << 4) + ((j & 4) >> 4);
  %9 = arith.shli %i, %4 : i32
  %10 = arith.andi %j, %4 : i32
  %11 = arith.shrsi %10, %4 : i32
  %12 = arith.addi %9, %11 : i32
  memref.store %12, %x[%0] : memref<64xi32>
  // CHECK: x[0] = i | j | (i ^ ~j);
  %minus = arith.constant -1 : i32
  %13 = arith.xori %j, %minus : i32
  %14 = arith.xori %i, %13 : i32
  %15 = arith.ori %i, %j : i32
  %16 = arith.ori %15, %14 : i32
  memref.store %16, %x[%0] : memref<64xi32>
  // CHECK: x[0] = hidet::floordiv(hidet::maximum(i, 4), hidet::minimum(j, 4));
  %17 = arith.maxsi %i, %4 : i32
  %18 = arith.minsi %j, %4 : i32
  %19 = arith.floordivsi %17, %18 : i32
  memref.store %19, %x[%0] : memref<64xi32>
  // CHECK: x[0] = hidet::floormod(i, j);
  %103 = cuda.floormodsi %i, %j : i32
  memref.store %103, %x[%0] : memref<64xi32>
  // CHECK: x[0] = hidet::shift_left(i, j) | hidet::shift_right(i, j);
  %104 = arith.shli %i, %j : i32
  %105 = arith.shrsi %i, %j : i32
  %106 = arith.ori %104, %105 : i32
  memref.store %106, %x[%0] : memref<64xi32>
  // CHECK: x[0] = i << j;
  %107 = arith.shli %i, %j {cuda.safe} : i32
  memref.store %107, %x[%0] : memref<64xi32>

  // Unsigned numbers are converted to and from.
  // CHECK: x[0] = hidet::divide(hidet::cast<unsigned>(i), hidet::cast<unsigned>(j));
  %20 = arith.divui %i, %j : i32
  memref.store %20, %x[%0] : memref<64xi32>
  // CHECK: x[0] = hidet::cast<unsigned>(i) % 4;
  %21 = arith.remui %i, %4 : i32
  memref.store %21, %x[%0] : memref<64xi32>
  // CHECK: x[0] = hidet::cast<unsigned>(i) >> 4;
  %22 = arith.shrui %i, %4 : i32
  memref.store %22, %x[%0] : memref<64xi32>
  // CHECK: x[0] = hidet::maximum(hidet::cast<unsigned>(i), hidet::cast<unsigned>(j));
  %23 = arith.maxui %i, %j : i32
  memref.store %23, %x[%0] : memref<64xi32>
  // CHECK: x[0] = hidet::minimum(hidet::cast<unsigned>(i), hidet::cast<unsigned>(j));
  %24 = arith.minui %i, %j : i32
  memref.store %24, %x[%0] : memref<64xi32>
}

// C++ computes small integers as int; the result is converted back.

// CHECK-LABEL: small(
cuda.kernel @small(%i : i8, %j : i8, %x : memref<64xi8>) grid(1) block(1) attributes {cuda.formed} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 3 : i8
  // CHECK: x[0] = hidet::cast<signed char>(hidet::cast<signed char>(i + j) / hidet::cast<signed char>(3));
  %2 = arith.addi %i, %j : i8
  %3 = arith.divsi %2, %1 : i8
  memref.store %3, %x[%0] : memref<64xi8>
  // CHECK: x[0] = hidet::shift_right(hidet::cast<unsigned char>(i), j);
  %4 = arith.shrui %i, %j : i8
  memref.store %4, %x[%0] : memref<64xi8>
}

// CHECK-LABEL: comparisons(
cuda.kernel @comparisons(%i : i32, %j : i32, %p : i1, %q : i1, %x : memref<64xi1>) grid(1) block(1) attributes {cuda.formed} {
  %0 = arith.constant 0 : index
  // CHECK: x[0] = (i < j && hidet::cast<unsigned>(i) + j == i) || p;
  %1 = arith.cmpi slt, %i, %j : i32
  %2 = arith.addi %i, %j : i32
  %3 = arith.cmpi eq, %2, %i : i32
  %4 = arith.andi %1, %3 : i1
  %5 = arith.ori %4, %p : i1
  memref.store %5, %x[%0] : memref<64xi1>
  // CHECK: x[0] = !(i <= j) && !p;
  %true = arith.constant true
  %6 = arith.cmpi sle, %i, %j : i32
  %7 = arith.xori %6, %true : i1
  %8 = arith.xori %p, %true : i1
  %9 = arith.andi %7, %8 : i1
  memref.store %9, %x[%0] : memref<64xi1>
  // CHECK: x[0] = (i > j) != (i >= j);
  %10 = arith.cmpi sgt, %i, %j : i32
  %11 = arith.cmpi sge, %i, %j : i32
  %12 = arith.xori %10, %11 : i1
  memref.store %12, %x[%0] : memref<64xi1>
  // CHECK: x[0] = i != j;
  %13 = arith.cmpi ne, %i, %j : i32
  memref.store %13, %x[%0] : memref<64xi1>
  // CHECK: x[0] = hidet::cast<unsigned>(i) < hidet::cast<unsigned>(j);
  %14 = arith.cmpi ult, %i, %j : i32
  memref.store %14, %x[%0] : memref<64xi1>
  // CHECK: x[0] = hidet::cast<unsigned>(i) <= hidet::cast<unsigned>(j);
  %15 = arith.cmpi ule, %i, %j : i32
  memref.store %15, %x[%0] : memref<64xi1>
  // CHECK: x[0] = hidet::cast<unsigned>(i) > hidet::cast<unsigned>(j);
  %16 = arith.cmpi ugt, %i, %j : i32
  memref.store %16, %x[%0] : memref<64xi1>
  // CHECK: x[0] = hidet::cast<unsigned>(i) >= hidet::cast<unsigned>(j);
  %17 = arith.cmpi uge, %i, %j : i32
  memref.store %17, %x[%0] : memref<64xi1>

  // As a signed number of one bit, true is -1.
  // CHECK: x[0] = q < p;
  %18 = arith.cmpi slt, %p, %q : i1
  memref.store %18, %x[%0] : memref<64xi1>
  // CHECK: x[0] = p < q;
  %19 = arith.cmpi ult, %p, %q : i1
  memref.store %19, %x[%0] : memref<64xi1>
}

// The predicates of floats: C++ has the ordered ones.

// CHECK-LABEL: float_comparisons(
cuda.kernel @float_comparisons(%a : f32, %b : f32, %x : memref<64xi1>) grid(1) block(1) attributes {cuda.formed} {
  %0 = arith.constant 0 : index
  // CHECK: x[0] = false;
  %1 = arith.cmpf false, %a, %b : f32
  memref.store %1, %x[%0] : memref<64xi1>
  // CHECK: x[0] = a == b;
  %2 = arith.cmpf oeq, %a, %b : f32
  memref.store %2, %x[%0] : memref<64xi1>
  // CHECK: x[0] = a > b;
  %3 = arith.cmpf ogt, %a, %b : f32
  memref.store %3, %x[%0] : memref<64xi1>
  // CHECK: x[0] = a >= b;
  %4 = arith.cmpf oge, %a, %b : f32
  memref.store %4, %x[%0] : memref<64xi1>
  // CHECK: x[0] = a < b;
  %5 = arith.cmpf olt, %a, %b : f32
  memref.store %5, %x[%0] : memref<64xi1>
  // CHECK: x[0] = a <= b;
  %6 = arith.cmpf ole, %a, %b : f32
  memref.store %6, %x[%0] : memref<64xi1>
  // CHECK: x[0] = a < b || a > b;
  %7 = arith.cmpf one, %a, %b : f32
  memref.store %7, %x[%0] : memref<64xi1>
  // CHECK: x[0] = !hidet::isnan(a) && !hidet::isnan(b);
  %8 = arith.cmpf ord, %a, %b : f32
  memref.store %8, %x[%0] : memref<64xi1>
  // CHECK: x[0] = !(a < b || a > b);
  %9 = arith.cmpf ueq, %a, %b : f32
  memref.store %9, %x[%0] : memref<64xi1>
  // CHECK: x[0] = !(a <= b);
  %10 = arith.cmpf ugt, %a, %b : f32
  memref.store %10, %x[%0] : memref<64xi1>
  // CHECK: x[0] = !(a < b);
  %11 = arith.cmpf uge, %a, %b : f32
  memref.store %11, %x[%0] : memref<64xi1>
  // CHECK: x[0] = !(a >= b);
  %12 = arith.cmpf ult, %a, %b : f32
  memref.store %12, %x[%0] : memref<64xi1>
  // CHECK: x[0] = !(a > b);
  %13 = arith.cmpf ule, %a, %b : f32
  memref.store %13, %x[%0] : memref<64xi1>
  // CHECK: x[0] = a != b;
  %14 = arith.cmpf une, %a, %b : f32
  memref.store %14, %x[%0] : memref<64xi1>
  // CHECK: x[0] = hidet::isnan(a) || hidet::isnan(b);
  %15 = arith.cmpf uno, %a, %b : f32
  memref.store %15, %x[%0] : memref<64xi1>
  // CHECK: x[0] = hidet::isnan(a);
  %16 = arith.cmpf uno, %a, %a : f32
  memref.store %16, %x[%0] : memref<64xi1>
  // CHECK: x[0] = true;
  %17 = arith.cmpf true, %a, %b : f32
  memref.store %17, %x[%0] : memref<64xi1>
}

// CHECK-LABEL: selections(
cuda.kernel @selections(%p : i1, %q : i1, %a : f32, %b : f32, %x : memref<64xf32>) grid(1) block(1) attributes {cuda.formed} {
  %0 = arith.constant 0 : index
  // CHECK: x[0] = p ? a : q ? b : a;
  %1 = arith.select %q, %b, %a : f32
  %2 = arith.select %p, %a, %1 : f32
  memref.store %2, %x[%0] : memref<64xf32>
  // CHECK: x[0] = p ? (q ? b : a) : a;
  %3 = arith.select %q, %b, %a : f32
  %4 = arith.select %p, %3, %a : f32
  memref.store %4, %x[%0] : memref<64xf32>
  // CHECK: x[0] = (p || q ? a : b) + 1.0f;
  %5 = arith.constant 1.0 : f32
  %6 = arith.ori %p, %q : i1
  %7 = arith.select %6, %a, %b : f32
  %8 = arith.addf %7, %5 : f32
  memref.store %8, %x[%0] : memref<64xf32>
}

// CHECK-LABEL: conversions(
cuda.kernel @conversions(%h : f16, %a : f32, %d : f64, %p : i1, %c : i8, %i : i32, %l : i64) grid(1) block(1) attributes {cuda.formed} {
  // CHECK: const float v1 = hidet::cast<float>(h);
  %v1 = arith.extf %h : f16 to f32
  // CHECK: const hidet::half v2 = hidet::cast<hidet::half>(a);
  %v2 = arith.truncf %a : f32 to f16
  // CHECK: const hidet::bfloat16 v3 = hidet::cast<hidet::bfloat16>(a);
  %v3 = arith.truncf %a : f32 to bf16
  // CHECK: const int v4 = hidet::cast<int>(a);
  %v4 = arith.fptosi %a : f32 to i32
  // CHECK: const unsigned v5 = hidet::cast<unsigned>(a);
  %v5 = arith.fptoui %a : f32 to i32
  // CHECK: const float v6 = hidet::cast<float>(i);
  %v6 = arith.sitofp %i : i32 to f32
  // CHECK: const float v7 = hidet::cast<float>(hidet::cast<unsigned>(i));
  %v7 = arith.uitofp %i : i32 to f32
  // CHECK: const float v8 = hidet::cast<float>(p);
  %v8 = arith.uitofp %p : i1 to f32
  // CHECK: const float v9 = -hidet::cast<float>(p);
  %v9 = arith.sitofp %p : i1 to f32
  // CHECK: const long long v10 = hidet::cast<long long>(i);
  %v10 = arith.extsi %i : i32 to i64
  // CHECK: const int v11 = hidet::cast<int>(hidet::cast<unsigned char>(c));
  %v11 = arith.extui %c : i8 to i32
  // CHECK: const int v12 = hidet::cast<int>(p);
  %v12 = arith.extui %p : i1 to i32
  // CHECK: const int v13 = -hidet::cast<int>(p);
  %v13 = arith.extsi %p : i1 to i32
  // CHECK: const int v14 = hidet::cast<int>(l);
  %v14 = arith.trunci %l : i64 to i32
  // CHECK: const bool v15 = (i & 1) != 0;
  %v15 = arith.trunci %i : i32 to i1
  // CHECK: const int v16 = hidet::bit_cast<int>(a);
  %v16 = arith.bitcast %a : f32 to i32

  // An index is an int already.
  // CHECK: const int v17 = i;
  %v17 = arith.index_cast %i : i32 to index
  // CHECK: const int v18 = hidet::cast<int>(l);
  %v18 = arith.index_cast %l : i64 to index
  // CHECK: const long long v19 = l;
  %v19 = arith.index_cast %l {cuda.long} : i64 to index
  // CHECK: const int v20 = hidet::cast<int>(v19);
  %v20 = arith.index_cast %v19 : index to i32
}

// An index that is marked is 64 bits wide, and so is the arithmetic that computes it.

// CHECK-LABEL: wide(
cuda.kernel @wide() grid(70000) block(128) attributes {cuda.formed} {
  %tid = cuda.thread_id x
  %bid = cuda.block_id x
  %0 = arith.constant 4096 : index
  // CHECK: const long long v1 = bid * 4096LL + tid;
  %1 = arith.muli %bid, %0 {cuda.long} : index
  %v1 = arith.addi %1, %tid {cuda.long} : index
  // CHECK: const long long v2 = hidet::cast<long long>(bid) * tid;
  %v2 = arith.muli %bid, %tid {cuda.long} : index
  // CHECK: const long long v3 = hidet::shift_left(hidet::cast<long long>(bid), 4096);
  %v3 = arith.shli %bid, %0 {cuda.long} : index
  // CHECK: const int v4 = hidet::cast<int>(v1 % 4096);
  %v4 = arith.remsi %v1, %0 : index
  // CHECK: const int v5 = tid + hidet::cast<int>(v1 / 4096);
  %2 = arith.divsi %v1, %0 : index
  %v5 = arith.addi %tid, %2 : index
  // CHECK: const long long v6 = hidet::maximum(v1, 4096LL);
  %v6 = arith.maxsi %v1, %0 {cuda.long} : index
  // CHECK: const long long v7 = v1 < tid ? v1 : hidet::cast<long long>(tid);
  %3 = arith.cmpi slt, %v1, %tid : index
  %v7 = arith.select %3, %v1, %tid {cuda.long} : index
  // CHECK: const long long v8 = tid + 3000000000LL;
  %4 = arith.constant 3000000000 : index
  %v8 = arith.addi %tid, %4 {cuda.long} : index
}
