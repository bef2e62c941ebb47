// RUN: HIDET_ROUNDTRIP

// CHECK-LABEL: cuda.kernel @checked
// CHECK-SAME: (%i : index, %d : i32, %x : memref<8xi64> {cuda.checked = [#cuda.bounds<5 : i64, "aten.gather">]})
cuda.kernel @checked(%i : index, %d : i32, %x : memref<8xi64> {cuda.checked = [#cuda.bounds<5 : i64, "aten.gather">]}) grid(1) block(32) {
  // CHECK: %j = cuda.checked_index %i below 5 "aten.gather (model.py:4)"
  %j = cuda.checked_index %i below 5 "aten.gather (model.py:4)"
  // CHECK-NEXT: %k = cuda.checked_index %j from_end below 5 "aten.index"
  %k = cuda.checked_index %j from_end below 5 "aten.index"
  // CHECK-NEXT: %l = cuda.checked_index %k ahead below 5 "aten.index"
  %l = cuda.checked_index %k ahead below 5 "aten.index"
  // CHECK-NEXT: %e = cuda.checked_divisor %d "aten.div" : i32
  %e = cuda.checked_divisor %d "aten.div" : i32
}
