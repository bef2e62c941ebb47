// RUN: hidet-opt %s -p 'form-expressions' -t cuda | filecheck %s

// What is read from shared memory is read before the thread arrives at a barrier, which hands the
// memory to others, and what comes after a wait is read after it. Accumulators are no such memory.

// CHECK-LABEL: // barriers
// CHECK:      const float s_value = s[tid];
// CHECK-NEXT: hidet::mbarrier_arrive(bar);
// CHECK-NEXT: const float s_value1 = s[tid];
// CHECK-NEXT: hidet::mbarrier_wait(&bar[1], 0);
// CHECK-NEXT: x[tid] = s_value + s_value1 + s[tid] + d[0];
cuda.kernel @barriers(%x : memref<128xf32>) grid(1) block(128) {
  %tid = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %parity = arith.constant 0 : i32
  %s = memref.alloca() : memref<128xf32, #cuda.space<shared>>
  %bar = memref.alloca() : memref<2xi64, #cuda.space<shared>>
  %d = memref.alloca() : memref<4xf32, #cuda.space<local>>
  %0 = memref.load %s[%tid] : memref<128xf32, #cuda.space<shared>>
  %1 = memref.load %d[%c0] : memref<4xf32, #cuda.space<local>>
  cuda.mbarrier_arrive %bar[%c0] : memref<2xi64, #cuda.space<shared>>
  %2 = memref.load %s[%tid] : memref<128xf32, #cuda.space<shared>>
  cuda.mbarrier_wait %bar[%c1] parity %parity : memref<2xi64, #cuda.space<shared>>
  %3 = memref.load %s[%tid] : memref<128xf32, #cuda.space<shared>>
  %4 = arith.addf %0, %2 : f32
  %5 = arith.addf %4, %3 : f32
  %6 = arith.addf %5, %1 : f32
  memref.store %6, %x[%tid] : memref<128xf32>
}

// An accumulator does not move past the product that writes it, nor a product's registers past a
// fence on them; a descriptor is a value with a name.

// CHECK-LABEL: // products
// CHECK:      const unsigned long long descriptor = hidet::matrix_descriptor<16, 1024, 128>(s);
// CHECK-NEXT: const float d_value = d[0];
// CHECK-NEXT: hidet::wgmma_m64n8k16_f16_f32<0, 0>(d, descriptor, descriptor + 2LL, true);
// CHECK-NEXT: hidet::wgmma_wait<0>();
// CHECK-NEXT: hidet::wgmma_fence_operand<4>(d);
// CHECK-NEXT: x[tid] = d_value + d[1];
cuda.kernel @products(%x : memref<128xf32>) grid(1) block(128) {
  %tid = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2 : i64
  %true = arith.constant true
  %s = memref.alloca() : memref<4096xf16, #cuda.space<shared>>
  %d = memref.alloca() : memref<4xf32, #cuda.space<local>>
  %4 = cuda.matrix_descriptor %s[%c0] leading 16 stride 1024 swizzle 128 : memref<4096xf16, #cuda.space<shared>>
  %0 = cuda.matrix_descriptor %s[%c0] leading 16 stride 1024 swizzle 128 : memref<4096xf16, #cuda.space<shared>>
  %5 = arith.addi %4, %two : i64
  %1 = memref.load %d[%c0] : memref<4xf32, #cuda.space<local>>
  cuda.wgmma "m64n8k16_f16_f32" %4, %5, %d[%c0] accumulate %true : memref<4xf32, #cuda.space<local>>
  cuda.wgmma_wait 0
  cuda.wgmma_fence_operand %d[%c0] count 4 : memref<4xf32, #cuda.space<local>>
  %2 = memref.load %d[%c1] : memref<4xf32, #cuda.space<local>>
  %3 = arith.addf %1, %2 : f32
  memref.store %3, %x[%tid] : memref<128xf32>
}
