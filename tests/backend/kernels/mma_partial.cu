// A product of matrices by a warp that is not whole, which no GPU has.
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
