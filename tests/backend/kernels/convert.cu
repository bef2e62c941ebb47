// Conversions between types.
#include "hidet.h"

#define CONVERT(name, from, to)                                                   \
  extern "C" __global__ void __launch_bounds__(128)                               \
  name(const from* __restrict__ x, to* __restrict__ out, int n) {                 \
    const int i = blockIdx.x * 128 + threadIdx.x;                                 \
    if (i < n) out[i] = hidet::cast<to>(x[i]);                                    \
  }                                                                               \
  HIDET_KERNEL(name, 128, 1, 1, HIDET_INDEPENDENT)

CONVERT(half_to_float, hidet::half, float)
CONVERT(float_to_half, float, hidet::half)
CONVERT(double_to_half, double, hidet::half)
CONVERT(long_to_half, long long, hidet::half)
CONVERT(bfloat16_to_float, hidet::bfloat16, float)
CONVERT(float_to_bfloat16, float, hidet::bfloat16)
CONVERT(half_to_bfloat16, hidet::half, hidet::bfloat16)
CONVERT(float_to_int, float, int)
CONVERT(float_to_char, float, signed char)
CONVERT(double_to_long, double, long long)
CONVERT(half_to_int, hidet::half, int)
CONVERT(long_to_float, long long, float)
CONVERT(float_to_bool, float, bool)
CONVERT(half_to_bool, hidet::half, bool)
CONVERT(int_to_bool, int, bool)
CONVERT(bool_to_half, bool, hidet::half)

extern "C" __global__ void __launch_bounds__(128)
float_to_tf32(const float* __restrict__ x, float* __restrict__ out, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) out[i] = hidet::round_tf32(x[i]);
}
HIDET_KERNEL(float_to_tf32, 128, 1, 1, HIDET_INDEPENDENT)

extern "C" __global__ void __launch_bounds__(128)
bits(const float* __restrict__ x, int* __restrict__ to_int, float* __restrict__ back, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) {
    to_int[i] = hidet::bit_cast<int>(x[i]);
    back[i] = hidet::bit_cast<float>(to_int[i]);
  }
}
HIDET_KERNEL(bits, 128, 1, 1, HIDET_INDEPENDENT)
