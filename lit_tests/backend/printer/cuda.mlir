// RUN: hidet-opt %s -t cuda | filecheck %s

// A kernel in which threads meet, or share memory, is collective.

// CHECK:      #include "hidet.h"
// CHECK-EMPTY:
// CHECK-NEXT: // meet
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(64) meet(float* __restrict__ x) {
cuda.kernel @meet(%x : memref<64xf32>) grid(4, 2) block(32, 2) attributes {cuda.formed} {
  // CHECK-NEXT: const int tx = threadIdx.x;
  %tx = cuda.thread_id x
  // CHECK-NEXT: const int ty = threadIdx.y;
  %ty = cuda.thread_id y
  // CHECK-NEXT: const int bz = blockIdx.z;
  %bz = cuda.block_id z
  // CHECK-NEXT: const long long bid = blockIdx.x;
  %bid = cuda.block_id x {cuda.long}
  // CHECK-NEXT: const float v = x[tx];
  %v = memref.load %x[%tx] : memref<64xf32>
  // CHECK-NEXT: hidet::sync_threads();
  cuda.sync_threads
  // CHECK-NEXT: hidet::sync_warp();
  cuda.sync_warp
  // CHECK-NEXT: const float w = v + hidet::shfl_xor(v, 16);
  %0 = arith.constant 16 : i32
  %1 = cuda.shfl xor %v, %0 : f32
  %w = arith.addf %v, %1 : f32
  // CHECK-NEXT: const float w1 = hidet::shfl(w, 16);
  %w1 = cuda.shfl idx %w, %0 : f32
  // CHECK-NEXT: const float w2 = hidet::shfl_up(w, 16);
  %w2 = cuda.shfl up %w, %0 : f32
  // CHECK-NEXT: hidet::shfl_up(w, 16, 8);
  %w4 = cuda.shfl up %w, %0 width 8 : f32
  // CHECK-NEXT: const float w3 = hidet::shfl_down(w, 16);
  %w3 = cuda.shfl down %w, %0 : f32
  // One whose value nobody wants is still a meeting.
  // CHECK-NEXT: hidet::shfl_xor(w, 16);
  %2 = cuda.shfl xor %w, %0 : f32
  // CHECK-NEXT: }
}
// CHECK-NEXT: HIDET_KERNEL(meet, 32, 2, 1, HIDET_COLLECTIVE)

// CHECK-EMPTY:
// CHECK-NEXT: // share
cuda.kernel @share() grid(1) block(8, 4, 2) attributes {cuda.formed} {
  %tile = memref.alloca() : memref<4xf32, #cuda.space<shared>>
}
// CHECK: HIDET_KERNEL(share, 8, 4, 2, HIDET_COLLECTIVE)

// A kernel whose head is long has one parameter a line.

// CHECK:      // copy
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(64) copy(
// CHECK-NEXT:     const hidet::half* __restrict__ x,
// CHECK-NEXT:     float alpha,
// CHECK-NEXT:     long long n,
// CHECK-NEXT:     hidet::half* __restrict__ out) {
cuda.kernel @copy(%x : memref<64xf16> {cuda.readonly}, %alpha : f32, %n : index, %out : memref<64xf16>) grid(1) block(64) attributes {cuda.formed} {
  %tid = cuda.thread_id x
  %0 = arith.constant 0 : index
  %8 = arith.constant 8 : index
  %1 = arith.muli %tid, %8 : index
  %tile = memref.alloca() : memref<4x8xf16, #cuda.space<local>>
  %buf = memref.alloca() : memref<8xf16, #cuda.space<local>>
  // CHECK:      hidet::copy_vector<hidet::half, 8>(buf, &x[tid * 8]);
  cuda.copy_vector %x[%1] to %buf[%0] width 8 : memref<64xf16> to memref<8xf16, #cuda.space<local>>
  // CHECK-NEXT: hidet::copy_vector<hidet::half, 8>(&tile[0][0], buf);
  cuda.copy_vector %buf[%0] to %tile[%0, %0] width 8 : memref<8xf16, #cuda.space<local>> to memref<4x8xf16, #cuda.space<local>>
  // CHECK-NEXT: hidet::copy_vector<hidet::half, 8>(&out[tid], &tile[tid][0]);
  cuda.copy_vector %tile[%tid, %0] to %out[%tid] width 8 : memref<4x8xf16, #cuda.space<local>> to memref<64xf16>
}
// CHECK: HIDET_KERNEL(copy, 64, 1, 1, HIDET_INDEPENDENT)

// Host functions are not printed.

// CHECK-NOT: forward
func.func @forward() {
  func.return
}

// Extents that launches give: a block may have as many threads as there can be.

// CHECK:      extern "C" __global__ void __launch_bounds__(1024) open(int* __restrict__ x) {
cuda.kernel @open(%x : memref<?xi32>) grid(?, ?) block(?, 4) attributes {cuda.formed} {
  // CHECK-NEXT: const int grid_dim = gridDim.x;
  %grid_dim = cuda.grid_dim x
  // CHECK-NEXT: const int block_dim = blockDim.x;
  %block_dim = cuda.block_dim x
  // CHECK-NEXT: x[grid_dim + block_dim] = gridDim.y;
  %0 = arith.addi %grid_dim, %block_dim : index
  %1 = cuda.grid_dim y
  %2 = arith.index_cast %1 : index to i32
  memref.store %2, %x[%0] : memref<?xi32>
}
// CHECK-NEXT: }
// CHECK-NEXT: HIDET_KERNEL(open, 0, 4, 1, HIDET_INDEPENDENT)
