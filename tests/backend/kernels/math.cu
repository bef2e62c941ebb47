// Every function of the math family. Row r of an output holds the results of the r-th line.
#include "hidet.h"

extern "C" __global__ void __launch_bounds__(128)
unary_float(const float* __restrict__ x, float* __restrict__ out, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) {
    out[n * 0 + i] = hidet::exp(x[i]);
    out[n * 1 + i] = hidet::exp2(x[i]);
    out[n * 2 + i] = hidet::expm1(x[i]);
    out[n * 3 + i] = hidet::log(x[i]);
    out[n * 4 + i] = hidet::log2(x[i]);
    out[n * 5 + i] = hidet::log10(x[i]);
    out[n * 6 + i] = hidet::log1p(x[i]);
    out[n * 7 + i] = hidet::sqrt(x[i]);
    out[n * 8 + i] = hidet::rsqrt(x[i]);
    out[n * 9 + i] = hidet::sin(x[i]);
    out[n * 10 + i] = hidet::cos(x[i]);
    out[n * 11 + i] = hidet::tan(x[i]);
    out[n * 12 + i] = hidet::asin(x[i]);
    out[n * 13 + i] = hidet::acos(x[i]);
    out[n * 14 + i] = hidet::atan(x[i]);
    out[n * 15 + i] = hidet::sinh(x[i]);
    out[n * 16 + i] = hidet::cosh(x[i]);
    out[n * 17 + i] = hidet::tanh(x[i]);
    out[n * 18 + i] = hidet::erf(x[i]);
    out[n * 19 + i] = hidet::erfc(x[i]);
    out[n * 20 + i] = hidet::floor(x[i]);
    out[n * 21 + i] = hidet::ceil(x[i]);
    out[n * 22 + i] = hidet::trunc(x[i]);
    out[n * 23 + i] = hidet::round(x[i]);
    out[n * 24 + i] = hidet::abs(x[i]);
  }
}
HIDET_KERNEL(unary_float, 128, 1, 1, HIDET_INDEPENDENT)

extern "C" __global__ void __launch_bounds__(128)
binary_float(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ out, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) {
    out[n * 0 + i] = hidet::atan2(x[i], y[i]);
    out[n * 1 + i] = hidet::pow(x[i], y[i]);
    out[n * 2 + i] = hidet::fmod(x[i], y[i]);
    out[n * 3 + i] = hidet::remainder(x[i], y[i]);
    out[n * 4 + i] = hidet::maximum(x[i], y[i]);
    out[n * 5 + i] = hidet::minimum(x[i], y[i]);
    out[n * 6 + i] = hidet::fmax(x[i], y[i]);
    out[n * 7 + i] = hidet::fmin(x[i], y[i]);
  }
}
HIDET_KERNEL(binary_float, 128, 1, 1, HIDET_INDEPENDENT)

extern "C" __global__ void __launch_bounds__(128)
other_float(const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ z,
      float* __restrict__ fused, bool* __restrict__ nan, bool* __restrict__ inf, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) {
    fused[i] = hidet::fma(x[i], y[i], z[i]);
    nan[i] = hidet::isnan(x[i]);
    inf[i] = hidet::isinf(x[i]);
  }
}
HIDET_KERNEL(other_float, 128, 1, 1, HIDET_INDEPENDENT)

extern "C" __global__ void __launch_bounds__(128)
unary_double(const double* __restrict__ x, double* __restrict__ out, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) {
    out[n * 0 + i] = hidet::exp(x[i]);
    out[n * 1 + i] = hidet::exp2(x[i]);
    out[n * 2 + i] = hidet::expm1(x[i]);
    out[n * 3 + i] = hidet::log(x[i]);
    out[n * 4 + i] = hidet::log2(x[i]);
    out[n * 5 + i] = hidet::log10(x[i]);
    out[n * 6 + i] = hidet::log1p(x[i]);
    out[n * 7 + i] = hidet::sqrt(x[i]);
    out[n * 8 + i] = hidet::rsqrt(x[i]);
    out[n * 9 + i] = hidet::sin(x[i]);
    out[n * 10 + i] = hidet::cos(x[i]);
    out[n * 11 + i] = hidet::tan(x[i]);
    out[n * 12 + i] = hidet::asin(x[i]);
    out[n * 13 + i] = hidet::acos(x[i]);
    out[n * 14 + i] = hidet::atan(x[i]);
    out[n * 15 + i] = hidet::sinh(x[i]);
    out[n * 16 + i] = hidet::cosh(x[i]);
    out[n * 17 + i] = hidet::tanh(x[i]);
    out[n * 18 + i] = hidet::erf(x[i]);
    out[n * 19 + i] = hidet::erfc(x[i]);
    out[n * 20 + i] = hidet::floor(x[i]);
    out[n * 21 + i] = hidet::ceil(x[i]);
    out[n * 22 + i] = hidet::trunc(x[i]);
    out[n * 23 + i] = hidet::round(x[i]);
    out[n * 24 + i] = hidet::abs(x[i]);
  }
}
HIDET_KERNEL(unary_double, 128, 1, 1, HIDET_INDEPENDENT)

extern "C" __global__ void __launch_bounds__(128)
binary_double(const double* __restrict__ x, const double* __restrict__ y, double* __restrict__ out, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) {
    out[n * 0 + i] = hidet::atan2(x[i], y[i]);
    out[n * 1 + i] = hidet::pow(x[i], y[i]);
    out[n * 2 + i] = hidet::fmod(x[i], y[i]);
    out[n * 3 + i] = hidet::remainder(x[i], y[i]);
    out[n * 4 + i] = hidet::maximum(x[i], y[i]);
    out[n * 5 + i] = hidet::minimum(x[i], y[i]);
    out[n * 6 + i] = hidet::fmax(x[i], y[i]);
    out[n * 7 + i] = hidet::fmin(x[i], y[i]);
  }
}
HIDET_KERNEL(binary_double, 128, 1, 1, HIDET_INDEPENDENT)

extern "C" __global__ void __launch_bounds__(128)
other_double(const double* __restrict__ x, const double* __restrict__ y, const double* __restrict__ z,
      double* __restrict__ fused, bool* __restrict__ nan, bool* __restrict__ inf, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) {
    fused[i] = hidet::fma(x[i], y[i], z[i]);
    nan[i] = hidet::isnan(x[i]);
    inf[i] = hidet::isinf(x[i]);
  }
}
HIDET_KERNEL(other_double, 128, 1, 1, HIDET_INDEPENDENT)

extern "C" __global__ void __launch_bounds__(128)
integer_int(const int* __restrict__ a, const int* __restrict__ b, int* __restrict__ out, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) {
    out[n * 0 + i] = hidet::maximum(a[i], b[i]);
    out[n * 1 + i] = hidet::minimum(a[i], b[i]);
    out[n * 2 + i] = hidet::floordiv(a[i], b[i]);
    out[n * 3 + i] = hidet::floormod(a[i], b[i]);
    out[n * 4 + i] = hidet::abs(a[i]);
  }
}
HIDET_KERNEL(integer_int, 128, 1, 1, HIDET_INDEPENDENT)

extern "C" __global__ void __launch_bounds__(128)
integer_long(const long long* __restrict__ a, const long long* __restrict__ b, long long* __restrict__ out, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) {
    out[n * 0 + i] = hidet::maximum(a[i], b[i]);
    out[n * 1 + i] = hidet::minimum(a[i], b[i]);
    out[n * 2 + i] = hidet::floordiv(a[i], b[i]);
    out[n * 3 + i] = hidet::floormod(a[i], b[i]);
    out[n * 4 + i] = hidet::abs(a[i]);
  }
}
HIDET_KERNEL(integer_long, 128, 1, 1, HIDET_INDEPENDENT)
