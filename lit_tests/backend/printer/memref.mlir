// RUN: hidet-opt %s -t cuda | filecheck %s

// CHECK-LABEL: memory(
// CHECK-NEXT: const float* __restrict__ x,
// CHECK-NEXT: float* __restrict__ out) {
cuda.kernel @memory(%x : memref<64xf32> {cuda.readonly}, %out : memref<64xf32>) grid(1) block(64) attributes {cuda.formed} {
  %tid = cuda.thread_id x
  %0 = arith.constant 0 : index
  %4 = arith.constant 4 : index

  // Arrays keep their shape; they may be aligned.
  // CHECK: __shared__ float tile[16][4];
  %tile = memref.alloca() : memref<16x4xf32, #cuda.space<shared>>
  // CHECK-NEXT: __shared__ __align__(16) hidet::half aligned[8];
  %aligned = memref.alloca() {alignment = 16 : i64} : memref<8xf16, #cuda.space<shared>>
  // CHECK-NEXT: __shared__ float total;
  %total = memref.alloca() : memref<f32, #cuda.space<shared>>
  // CHECK-NEXT: float buf[4];
  %buf = memref.alloca() : memref<4xf32, #cuda.space<local>>
  // CHECK-NEXT: __align__(8) int counts[2][2];
  %counts = memref.alloca() {alignment = 8 : i64} : memref<2x2xi32, #cuda.space<local>>
  // CHECK-NEXT: float v;
  %v = memref.alloca() : memref<f32, #cuda.space<local>>

  // CHECK-NEXT: tile[tid / 4][tid % 4] = x[tid];
  %1 = memref.load %x[%tid] : memref<64xf32>
  %2 = arith.divsi %tid, %4 : index
  %3 = arith.remsi %tid, %4 : index
  memref.store %1, %tile[%2, %3] : memref<16x4xf32, #cuda.space<shared>>
  // CHECK-NEXT: v = tile[0][4];
  %5 = memref.load %tile[%0, %4] : memref<16x4xf32, #cuda.space<shared>>
  memref.store %5, %v[] : memref<f32, #cuda.space<local>>
  // CHECK-NEXT: const float w = v;
  %w = memref.load %v[] : memref<f32, #cuda.space<local>>

  // A variable may be declared by its first store.
  // CHECK-NEXT: float acc = 0.0f;
  %acc = memref.alloca() {cuda.deferred} : memref<f32, #cuda.space<local>>
  %6 = arith.constant 0.0 : f32
  memref.store %6, %acc[] {cuda.declares} : memref<f32, #cuda.space<local>>

  // What is stored to the element that it is computed from.
  // CHECK-NEXT: acc += w;
  %7 = memref.load %acc[] : memref<f32, #cuda.space<local>>
  %8 = arith.addf %7, %w : f32
  memref.store %8, %acc[] {cuda.update = 0 : i64} : memref<f32, #cuda.space<local>>
  // CHECK-NEXT: out[tid * 4] *= w - 1.0f;
  %9 = arith.muli %tid, %4 : index
  %10 = memref.load %out[%9] : memref<64xf32>
  %11 = arith.constant 1.0 : f32
  %12 = arith.subf %w, %11 : f32
  %13 = arith.mulf %12, %10 : f32
  memref.store %13, %out[%9] {cuda.update = 1 : i64} : memref<64xf32>

  // In memory an index has 64 bits.
  // CHECK-NEXT: long long place;
  %place = memref.alloca() : memref<index, #cuda.space<local>>
  // CHECK-NEXT: place = hidet::cast<long long>(tid);
  memref.store %tid, %place[] : memref<index, #cuda.space<local>>
  // CHECK-NEXT: const int p = hidet::cast<int>(place);
  %p = memref.load %place[] : memref<index, #cuda.space<local>>
}

// Shared memory whose size the launch states.

// CHECK-LABEL: // placed
cuda.kernel @placed(%x : memref<64xf32>) grid(1) block(64) attributes {shared_bytes = 65540 : i64, cuda.formed} {
  %0 = arith.constant 0 : index
  %tid = cuda.thread_id x
  // CHECK:      auto& a = hidet::dynamic_shared<float[64][256]>(0);
  %a = cuda.dynamic_shared offset 0 : memref<64x256xf32, #cuda.space<shared>>
  // CHECK-NEXT: auto& b = hidet::dynamic_shared<float>(65536);
  %b = cuda.dynamic_shared offset 65536 : memref<f32, #cuda.space<shared>>
  // CHECK-NEXT: const float v = b;
  // CHECK-NEXT: a[tid][0] = v;
  %v = memref.load %b[] : memref<f32, #cuda.space<shared>>
  memref.store %v, %a[%tid, %0] : memref<64x256xf32, #cuda.space<shared>>
}
// CHECK-NEXT: }
// CHECK-NEXT: HIDET_KERNEL(placed, 64, 1, 1, HIDET_COLLECTIVE)
