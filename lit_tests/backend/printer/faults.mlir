// RUN: hidet-opt %s -t cuda | filecheck %s

// The text names the operator and the line. What a check gives is used as any other value; where
// nobody uses it, the check is a statement.

// CHECK: void __launch_bounds__(32) faults(
cuda.kernel @faults(%ids : memref<8xi64>, %d : i32, %x : f32) grid(1) block(32) attributes {cuda.formed} {
  %c1 = arith.constant 1 : index
  %0 = memref.load %ids[%c1] : memref<8xi64>
  %1 = arith.index_cast %0 {cuda.long} : i64 to index
  // CHECK: const int i = hidet::cast<int>(hidet::checked_index(ids[1], 5, "aten.gather (model.py:4)"));
  %i = cuda.checked_index %1 below 5 "aten.gather (model.py:4)"
  // CHECK-NEXT: const int j = hidet::checked_index_from_end(i, 5, "a \"quoted\" one");
  %j = cuda.checked_index %i from_end below 5 "a \"quoted\" one"
  // CHECK-NEXT: hidet::checked_divisor(d, "aten.div");
  %2 = cuda.checked_divisor %d "aten.div" : i32
  // CHECK-NEXT: const float r = hidet::fmod(x, hidet::erfc(x));
  %3 = cuda.function "erfc"(%x) : (f32) -> f32
  %r = cuda.function "fmod"(%x, %3) : (f32, f32) -> f32
  // CHECK-NEXT: }
}
// CHECK-NEXT: HIDET_KERNEL(faults, 32, 1, 1, HIDET_INDEPENDENT)

// CHECK: HIDET_KERNEL(brief, 32, 1, 1, HIDET_SERIAL)
cuda.kernel @brief() grid(1) block(32) attributes {cuda.serial, cuda.formed} {
}

// A launch on the CPU checks the elements of an argument first.

// CHECK:      HIDET_CHECKS_AHEAD(ahead,
// CHECK-NEXT:   hidet::cpu::check_indices(*static_cast<const int* const*>(args[1]), 8, 5, "aten.embedding (\"model\".py:4)");
// CHECK-NEXT: )
// CHECK-NEXT: HIDET_KERNEL(ahead, 32, 1, 1, HIDET_INDEPENDENT)
cuda.kernel @ahead(%x : memref<8xf32>, %ids : memref<8xi32> {cuda.checked = [#cuda.bounds<5 : i64, "aten.embedding (\"model\".py:4)">]}) grid(1) block(32) attributes {cuda.formed} {
}
