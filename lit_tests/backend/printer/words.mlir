// RUN: hidet-opt %s -t cuda | filecheck %s

// CHECK-LABEL: // words
cuda.kernel @words(%x : memref<?xf16> {cuda.readonly}, %y : memref<?xi32>, %b : bf16) grid(1) block(1) attributes {cuda.formed} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  // CHECK:      const hidet::half2 p = hidet::join<hidet::half2>(x[0], x[1]);
  %2 = memref.load %x[%0] : memref<?xf16>
  %3 = memref.load %x[%1] : memref<?xf16>
  %p = cuda.join %2, %3 : f16, f16 to vector<2xf16>
  // CHECK-NEXT: const hidet::half2 q = hidet::packed_fma(p, p, p);
  %q = cuda.packed fma %p, %p, %p : vector<2xf16>
  // CHECK-NEXT: const hidet::bfloat162 r = hidet::packed_abs(hidet::join<hidet::bfloat162>(b, b));
  %4 = cuda.join %b, %b : bf16, bf16 to vector<2xbf16>
  %r = cuda.packed abs %4 : vector<2xbf16>
  // CHECK-NEXT: auto* const v = hidet::view<short>(&x[1]);
  %v = cuda.view %x[%1] : memref<?xf16> to memref<?xi16>
  // CHECK-NEXT: const short s = v[0];
  %s = memref.load %v[%0] : memref<?xi16>
  // CHECK-NEXT: const long long at = hidet::address_of(x);
  %at = cuda.address_of %x[%0] : memref<?xf16>
  // CHECK-NEXT: y[0] = hidet::join<int>(q);
  %5 = cuda.join %q : vector<2xf16> to i32
  memref.store %5, %y[%0] : memref<?xi32>
  // CHECK-NEXT: const hidet::bfloat16 c = hidet::part<hidet::bfloat16, 1>(r);
  %c = cuda.part 1 of %r : vector<2xbf16> to bf16
}

// Arguments that may overlap are not restricted.
// CHECK-LABEL: // aliased
// CHECK:       aliased(const float* x, float* y) {
cuda.kernel @aliased(%x : memref<?xf32> {cuda.readonly}, %y : memref<?xf32>) grid(1) block(1) attributes {cuda.formed, cuda.may_alias} {
}

// Nor is what others write while the kernel begins.
// CHECK-LABEL: // early
// CHECK:           const float* x,
// CHECK-NEXT:      const float* __restrict__ w,
// CHECK-NEXT:      float* __restrict__ y) {
cuda.kernel @early(%x : memref<?xf32> {cuda.readonly, cuda.awaited}, %w : memref<?xf32> {cuda.readonly}, %y : memref<?xf32>) grid(1) block(1) attributes {cuda.formed} {
}
