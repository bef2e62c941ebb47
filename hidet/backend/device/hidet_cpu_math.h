// CPU: where the elementary functions come from, and those that CUDA has an instruction for.
#pragma once

#include <type_traits>

// g++ knows the C library by these names without <cmath>, whose reading takes longer than the
// compilation of a typical kernel.
#define HIDET_LIBM(name) __builtin_##name
#define HIDET_DECLARE_LIBM(result, name, ...)

namespace hidet {

template <typename T>
using if_float = std::enable_if_t<std::is_floating_point_v<T>, T>;

HIDET_DEVICE float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
HIDET_DEVICE double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }

// The power. That of 1/2 is not the square root: of -infinity and -0.0 it is infinity and 0. g++'s
// vectoriser makes a square root of it all the same, so it is told what to compute.
HIDET_DEVICE float pow(float x, float y) {
  if (__builtin_constant_p(y) && y == 0.5f) {
    return x == -INFINITY ? INFINITY : __builtin_sqrtf(x + 0.0f);
  }
  return __builtin_powf(x, y);
}

HIDET_DEVICE double pow(double x, double y) {
  if (__builtin_constant_p(y) && y == 0.5) {
    return x == -INFINITY ? INFINITY : __builtin_sqrt(x + 0.0);
  }
  return __builtin_pow(x, y);
}

// `x != x` is true for NaN alone. Written as two steps, the functions below become a few instructions
// without a branch and vectorise.

// The larger or smaller number, NaN if one of them is NaN: as torch.maximum and torch.minimum. Of two
// zeros the first one, as in torch.clamp.
template <typename T>
HIDET_DEVICE if_float<T> maximum(T a, T b) {
  const T larger = a < b ? b : a;  // a if one of them is NaN
  return b != b ? b : larger;
}

template <typename T>
HIDET_DEVICE if_float<T> minimum(T a, T b) {
  const T smaller = b < a ? b : a;
  return b != b ? b : smaller;
}

// The larger or smaller number, the other one if one of them is NaN: as torch.fmax and torch.fmin
// (maxNum and minNum of IEEE 754-2008). Of two zeros the second one.
template <typename T>
HIDET_DEVICE if_float<T> fmax(T a, T b) {
  const T larger = a > b ? a : b;
  return b != b ? a : larger;
}

template <typename T>
HIDET_DEVICE if_float<T> fmin(T a, T b) {
  const T smaller = a < b ? a : b;
  return b != b ? a : smaller;
}

}  // namespace hidet
