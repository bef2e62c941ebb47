// RUN: HIDET_ROUNDTRIP

// CHECK: a = #cuda<packed_function fma>
"test.op"() {a = #cuda<packed_function fma>} : () -> ()

// CHECK-LABEL: cuda.kernel @words
cuda.kernel @words(%a : f16, %b : f16, %n : i64, %x : memref<4x8xf32>) grid(1) block(32) {
  %i = cuda.thread_id x
  // CHECK:      %p = cuda.join %a, %b : f16, f16 to vector<2xf16>
  %p = cuda.join %a, %b : f16, f16 to vector<2xf16>
  // CHECK-NEXT: %q = cuda.packed fma %p, %p, %p : vector<2xf16>
  %q = cuda.packed fma %p, %p, %p : vector<2xf16>
  // CHECK-NEXT: %r = cuda.packed neg %q : vector<2xf16>
  %r = cuda.packed neg %q : vector<2xf16>
  // CHECK-NEXT: %c = cuda.part 1 of %r : vector<2xf16> to f16
  %c = cuda.part 1 of %r : vector<2xf16> to f16
  // CHECK-NEXT: %w = cuda.join %r : vector<2xf16> to i32
  %w = cuda.join %r : vector<2xf16> to i32
  // CHECK-NEXT: %low = cuda.part 0 of %n : i64 to i32
  %low = cuda.part 0 of %n : i64 to i32
  // CHECK-NEXT: %v = cuda.view %x[%i, %i] : memref<4x8xf32> to memref<?xf16>
  %v = cuda.view %x[%i, %i] : memref<4x8xf32> to memref<?xf16>
  // CHECK-NEXT: %at = cuda.address_of %x[%i, %i] : memref<4x8xf32>
  %at = cuda.address_of %x[%i, %i] : memref<4x8xf32>
}
