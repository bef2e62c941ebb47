// Vector copies, atomic operations and dynamic shared memory.
#include "hidet.h"

// Each thread copies N elements through a local array.
#define COPY(name, type, N)                                                       \
  extern "C" __global__ void __launch_bounds__(64)                                \
  name(const type* __restrict__ x, type* __restrict__ out) {                      \
    const int i = (blockIdx.x * 64 + threadIdx.x) * N;                            \
    __align__(16) type v[N];                                                      \
    hidet::copy_vector<type, N>(v, &x[i]);                                        \
    hidet::copy_vector<type, N>(&out[i], v);                                      \
  }                                                                               \
  HIDET_KERNEL(name, 64, 1, 1, HIDET_INDEPENDENT)

COPY(copy_float4, float, 4)
COPY(copy_float2, float, 2)
COPY(copy_float1, float, 1)
COPY(copy_double2, double, 2)
COPY(copy_half8, hidet::half, 8)
COPY(copy_half1, hidet::half, 1)
COPY(copy_char16, signed char, 16)
COPY(copy_char1, signed char, 1)

#define ATOMIC(name, type)                                                              \
  extern "C" __global__ void __launch_bounds__(96)                                      \
  name(const type* __restrict__ x, type* __restrict__ result, type* __restrict__ old) { \
    const int i = blockIdx.x * 96 + threadIdx.x;                                        \
    old[i] = hidet::atomic_add(&result[0], x[i]);                                       \
    hidet::atomic_max(&result[1], x[i]);                                                \
    hidet::atomic_min(&result[2], x[i]);                                                \
  }                                                                                     \
  HIDET_KERNEL(name, 96, 1, 1, HIDET_INDEPENDENT)

ATOMIC(atomic_float, float)
ATOMIC(atomic_double, double)
ATOMIC(atomic_int, int)
ATOMIC(atomic_unsigned, unsigned)
ATOMIC(atomic_long, long long)

// Counts in shared memory first.
extern "C" __global__ void __launch_bounds__(128)
histogram(const int* __restrict__ x, int* __restrict__ counts, int n) {
  __shared__ int local[16];
  const int tid = threadIdx.x;
  const int i = blockIdx.x * 128 + tid;
  if (tid < 16) local[tid] = 0;
  hidet::sync_threads();
  if (i < n) hidet::atomic_add(&local[x[i]], 1);
  hidet::sync_threads();
  if (tid < 16) hidet::atomic_add(&counts[tid], local[tid]);
}
HIDET_KERNEL(histogram, 128, 1, 1, HIDET_COLLECTIVE)

// Reverses the elements of each block.
extern "C" __global__ void __launch_bounds__(160)
reverse(const float* __restrict__ x, float* __restrict__ out) {
  HIDET_DYNAMIC_SHARED(float, buffer);
  const int tid = threadIdx.x;
  buffer[tid] = x[blockIdx.x * 160 + tid];
  hidet::sync_threads();
  out[blockIdx.x * 160 + tid] = buffer[159 - tid];
}
HIDET_KERNEL(reverse, 160, 1, 1, HIDET_COLLECTIVE)

// Reads dynamic shared memory that nobody wrote.
extern "C" __global__ void __launch_bounds__(32)
uninitialised(float* __restrict__ out) {
  HIDET_DYNAMIC_SHARED(float, buffer);
  out[threadIdx.x] = buffer[threadIdx.x];
}
HIDET_KERNEL(uninitialised, 32, 1, 1, HIDET_INDEPENDENT)

// A vector access of 8 bytes at an odd multiple of 4.
extern "C" __global__ void __launch_bounds__(32)
misaligned(const float* __restrict__ x, float* __restrict__ out) {
  hidet::copy_vector<float, 2>(&out[threadIdx.x * 2], &x[threadIdx.x * 2 + 1]);
}
HIDET_KERNEL(misaligned, 32, 1, 1, HIDET_INDEPENDENT)
