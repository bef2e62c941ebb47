// Mistakes: threads that wait for others in vain, and meetings where there can be none.
#include "hidet.h"

// Threads from `first` on leave before the barrier; block `bad` alone.
extern "C" __global__ void __launch_bounds__(64)
leave_early(int* __restrict__ out, int first, int bad) {
  if (threadIdx.x >= first && blockIdx.x == bad) return;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = 1;
}
HIDET_KERNEL(leave_early, 64, 1, 1, HIDET_COLLECTIVE)

extern "C" __global__ void __launch_bounds__(64)
two_barriers(int* __restrict__ out) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  out[threadIdx.x] = 1;
}
HIDET_KERNEL(two_barriers, 64, 1, 1, HIDET_COLLECTIVE)

// Lane 3 of each warp does not come to the shuffle.
extern "C" __global__ void __launch_bounds__(64)
missing_lane(int* __restrict__ out) {
  int v = threadIdx.x;
  if (threadIdx.x % 32 != 3) v = hidet::shfl_xor(v, 1);
  out[threadIdx.x] = v;
}
HIDET_KERNEL(missing_lane, 64, 1, 1, HIDET_COLLECTIVE)

// The second warp has 16 lanes.
extern "C" __global__ void __launch_bounds__(48)
small_warp(int* __restrict__ out) {
  out[threadIdx.x] = hidet::shfl_down(threadIdx.x, 8);
}
HIDET_KERNEL(small_warp, 48, 1, 1, HIDET_COLLECTIVE)

extern "C" __global__ void __launch_bounds__(64)
not_collective(int* __restrict__ out) {
  __syncthreads();
  out[threadIdx.x] = 1;
}
HIDET_KERNEL(not_collective, 64, 1, 1, HIDET_INDEPENDENT)
