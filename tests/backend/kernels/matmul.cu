// out = x @ w in float, m, n multiples of 64 and k of 16, as the compiler would print it: a tile of
// 64x64 a block, 4x4 a thread, 16 steps of k at a time through shared memory.
#include "hidet.h"

extern "C" __global__ void __launch_bounds__(256)
matmul(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ out, int n,
       int k) {
  __shared__ __align__(16) float sa[16][64];
  __shared__ __align__(16) float sb[16][64];
  const int tid = threadIdx.x;
  const int tx = tid % 16;
  const int ty = tid / 16;
  const int bm = blockIdx.y * 64;
  const int bn = blockIdx.x * 64;
  __align__(16) float acc[4][4];
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    #pragma unroll
    for (int j = 0; j < 4; ++j) acc[i][j] = 0.0f;
  }
  for (int k0 = 0; k0 < k; k0 += 16) {
    #pragma unroll
    for (int i = 0; i < 4; ++i) sa[tx][ty + i * 16] = x[(bm + ty + i * 16) * k + k0 + tx];
    hidet::copy_vector<float, 4>(&sb[ty][tx * 4], &w[(k0 + ty) * n + bn + tx * 4]);
    hidet::sync_threads();
    #pragma unroll
    for (int kk = 0; kk < 16; ++kk) {
      __align__(16) float a[4];
      __align__(16) float b[4];
      hidet::copy_vector<float, 4>(a, &sa[kk][ty * 4]);
      hidet::copy_vector<float, 4>(b, &sb[kk][tx * 4]);
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        #pragma unroll
        for (int j = 0; j < 4; ++j) acc[i][j] += a[i] * b[j];
      }
    }
    hidet::sync_threads();
  }
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    hidet::copy_vector<float, 4>(&out[(bm + ty * 4 + i) * n + bn + tx * 4], acc[i]);
  }
}
HIDET_KERNEL(matmul, 256, 1, 1, HIDET_COLLECTIVE)

// Two barriers a round and nothing else, to measure them.
extern "C" __global__ void __launch_bounds__(256) barriers(int* __restrict__ out, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    hidet::sync_threads();
    hidet::sync_threads();
  }
  out[threadIdx.x] = rounds;
}
HIDET_KERNEL(barriers, 256, 1, 1, HIDET_COLLECTIVE)
