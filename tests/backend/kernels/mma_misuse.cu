// What no GPU allows, and the CPU has a message for.
#include "hidet.h"

extern "C" __global__ void __launch_bounds__(48) partial(float* __restrict__ out) {
  float a[4] = {1.0f, 1.0f, 1.0f, 1.0f};
  float b[2] = {1.0f, 1.0f};
  float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  hidet::mma_m16n8k8(c, a, b);
  out[threadIdx.x] = c[0];
}
HIDET_KERNEL(partial, 48, 1, 1, HIDET_COLLECTIVE)

extern "C" __global__ void __launch_bounds__(32) alone(float* __restrict__ out) {
  float a[4] = {1.0f, 1.0f, 1.0f, 1.0f};
  float b[2] = {1.0f, 1.0f};
  float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  hidet::mma_m16n8k8(c, a, b);
  out[threadIdx.x] = c[0];
}
HIDET_KERNEL(alone, 32, 1, 1, HIDET_INDEPENDENT)

// Rows of matrices start at multiples of 16 bytes.
extern "C" __global__ void __launch_bounds__(32) misaligned(float* __restrict__ out) {
  __shared__ __align__(16) float tile[32][5];
  float r[1];
  tile[threadIdx.x][0] = 0.0f;
  hidet::sync_threads();
  hidet::ldmatrix_x1(r, &tile[threadIdx.x][0]);
  out[threadIdx.x] = r[0];
}
HIDET_KERNEL(misaligned, 32, 1, 1, HIDET_COLLECTIVE)

// The target of a copy starts at a multiple of its size, and its source has no more than its elements.
extern "C" __global__ void __launch_bounds__(32)
copies(const float* __restrict__ x, float* __restrict__ out, int start, int valid) {
  __shared__ __align__(16) float tile[8];
  hidet::cp_async_cg<4>(&tile[start], x, valid);
  hidet::cp_async_commit();
  hidet::cp_async_wait<0>();
  out[threadIdx.x] = tile[0];
}
HIDET_KERNEL(copies, 32, 1, 1, HIDET_COLLECTIVE)
