// RUN: hidet-opt %s -t cuda | filecheck %s

// Loops of a function of the CPU that its cores share.

// CHECK:      static void shared(float* __restrict__ x) {
cuda.kernel @shared(%x : memref<?xf32>) grid(1) block(1) attributes {cuda.formed, cuda.on_cpu} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 8 : index
  %v = arith.constant 1.0 : f32
  // CHECK-NEXT:   #pragma omp parallel for
  // CHECK-NEXT:   for (int i = 0; i < 8; ++i) {
  scf.for %i = %zero to %n step %one {
    memref.store %v, %x[%i] : memref<?xf32>
  } {cuda.parallel}
  // CHECK:        #pragma omp parallel for num_threads(4)
  scf.for %i = %zero to %n step %one {
    memref.store %v, %x[%i] : memref<?xf32>
  } {cuda.parallel = 4 : i64}
  // CHECK:      HIDET_CPU_FUNCTION(shared)
}
