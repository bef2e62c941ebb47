// Barriers, shuffles and votes.
#include "hidet.h"

// Row r of an output holds what the r-th line gives every lane.
#define SHUFFLE(name, type)                                                       \
  extern "C" __global__ void __launch_bounds__(64)                                \
  name(const type* __restrict__ x, type* __restrict__ out) {                      \
    const int i = threadIdx.x;                                                    \
    const type v = x[i];                                                          \
    out[64 * 0 + i] = hidet::shfl(v, 5);                                          \
    out[64 * 1 + i] = hidet::shfl(v, i / 3, 8);                                   \
    out[64 * 2 + i] = hidet::shfl_up(v, 3);                                       \
    out[64 * 3 + i] = hidet::shfl_up(v, 1, 4);                                    \
    out[64 * 4 + i] = hidet::shfl_down(v, 7);                                     \
    out[64 * 5 + i] = hidet::shfl_down(v, 2, 16);                                 \
    out[64 * 6 + i] = hidet::shfl_xor(v, 16);                                     \
    out[64 * 7 + i] = hidet::shfl_xor(v, 9, 8);                                   \
  }                                                                               \
  HIDET_KERNEL(name, 64, 1, 1, HIDET_COLLECTIVE)

SHUFFLE(shuffle_float, float)
SHUFFLE(shuffle_double, double)
SHUFFLE(shuffle_long, long long)
SHUFFLE(shuffle_half, hidet::half)

extern "C" __global__ void __launch_bounds__(96)
votes(const int* __restrict__ x, unsigned* __restrict__ ballots, bool* __restrict__ any,
      bool* __restrict__ all) {
  const int i = blockIdx.x * 96 + threadIdx.x;
  ballots[i] = hidet::ballot(x[i] > 0);
  any[i] = hidet::any(x[i] > 0);
  all[i] = hidet::all(x[i] > 0);
}
HIDET_KERNEL(votes, 96, 1, 1, HIDET_COLLECTIVE)

// One sum for each block of 256 elements: lanes, then warps.
extern "C" __global__ void __launch_bounds__(256)
block_sum(const float* __restrict__ x, float* __restrict__ out) {
  __shared__ float partial[8];
  const int tid = threadIdx.x;
  float sum = x[blockIdx.x * 256 + tid];
  #pragma unroll
  for (int delta = 16; delta > 0; delta /= 2) sum += hidet::shfl_down(sum, delta);
  if (tid % 32 == 0) partial[tid / 32] = sum;
  hidet::sync_threads();
  if (tid < 32) {
    sum = tid < 8 ? partial[tid] : 0.0f;
    #pragma unroll
    for (int delta = 4; delta > 0; delta /= 2) sum += hidet::shfl_xor(sum, delta);
    if (tid == 0) out[blockIdx.x] = sum;
  }
}
HIDET_KERNEL(block_sum, 256, 1, 1, HIDET_COLLECTIVE)

// Every round each thread takes its neighbour's number and adds its own. The block has three
// dimensions, and a last warp of 9 lanes.
extern "C" __global__ void __launch_bounds__(105)
ping_pong(int* __restrict__ out, int rounds) {
  __shared__ int numbers[105];
  const int tid = threadIdx.x + 7 * (threadIdx.y + 5 * threadIdx.z);
  numbers[tid] = tid;
  hidet::sync_threads();
  for (int round = 0; round < rounds; ++round) {
    const int next = numbers[(tid + 1) % 105] + tid;
    hidet::sync_threads();
    numbers[tid] = next;
    hidet::sync_threads();
  }
  out[blockIdx.x * 105 + tid] = numbers[tid] + blockIdx.x;
}
HIDET_KERNEL(ping_pong, 7, 5, 3, HIDET_COLLECTIVE)

// Warps hand a number through their lanes, at a different pace in each warp.
extern "C" __global__ void __launch_bounds__(128)
warp_relay(int* __restrict__ out) {
  __shared__ int baton[4];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (lane == 0) baton[warp] = 0;
  hidet::sync_warp();
  for (int turn = 0; turn < 8 * (warp + 1); ++turn) {
    if (lane == turn % 32) baton[warp] = baton[warp] * 3 + lane;
    hidet::sync_warp();
  }
  hidet::sync_threads();
  out[threadIdx.x] = baton[(warp + 1) % 4];
}
HIDET_KERNEL(warp_relay, 128, 1, 1, HIDET_COLLECTIVE)
