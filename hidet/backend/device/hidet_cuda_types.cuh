// CUDA: conversions of half and bfloat16 (PTX ISA, "cvt").
//
// Reading the toolkit's headers of these types takes longer than the compilation of a typical kernel. The
// braces and line ends are as there: by them nvcc estimates the size of loops that it may unroll.
#pragma once

#include <cstdint>
#include <type_traits>

#include "hidet_types.h"

namespace hidet {

HIDET_DEVICE float to_float(half x) {
  float result;
  asm("{cvt.f32.f16 %0, %1;}\n" : "=f"(result) : "h"(x.bits));
  return result;
}

HIDET_DEVICE half to_half(float x) {
  half result;
  asm("{cvt.rn.f16.f32 %0, %1;}\n" : "=h"(result.bits) : "f"(x));
  return result;
}

HIDET_DEVICE float to_float(bfloat16 x) {
  float result;
#if __CUDA_ARCH__ >= 900
  asm("{cvt.f32.bf16 %0, %1;}\n" : "=f"(result) : "h"(x.bits));
#else
  asm("{mov.b32 %0, {0, %1};}\n" : "=f"(result) : "h"(x.bits));
#endif
  return result;
}

HIDET_DEVICE bfloat16 to_bfloat16(float x) {
#if __CUDA_ARCH__ >= 800
  bfloat16 result;
  asm("{cvt.rn.bf16.f32 %0, %1;}\n" : "=h"(result.bits) : "f"(x));
  return result;
#else
  return rounded_to_bfloat16(::__float_as_uint(x));
#endif
}

// The integer towards zero; the nearest one where T has none, and 0 for NaN. The instructions do so
// but for NaN as a number of 64 bits, and have no numbers of 8 bits.
template <typename T>
HIDET_DEVICE T to_integer(float x) {
  if constexpr (sizeof(T) == 8) {
    if (x != x) return T(0);
    return std::is_signed_v<T> ? static_cast<T>(::__float2ll_rz(x))
                               : static_cast<T>(::__float2ull_rz(x));
  } else if constexpr (sizeof(T) == 4) {
    return std::is_signed_v<T> ? static_cast<T>(::__float2int_rz(x))
                               : static_cast<T>(::__float2uint_rz(x));
  } else {
    constexpr int largest = (1 << (sizeof(T) * 8 - std::is_signed_v<T>)) - 1;
    constexpr int smallest = std::is_signed_v<T> ? -largest - 1 : 0;
    const int number = ::__float2int_rz(x);
    const int below = number > smallest ? number : smallest;
    return static_cast<T>(below < largest ? below : largest);
  }
}

template <typename T>
HIDET_DEVICE T to_integer(double x) {
  if constexpr (sizeof(T) < 4) {
    // Rounded towards zero a float has the same integer part, as far as T goes.
    return to_integer<T>(::__double2float_rz(x));
  } else {
    if (x != x) return T(0);
    if constexpr (sizeof(T) == 8) {
      return std::is_signed_v<T> ? static_cast<T>(::__double2ll_rz(x))
                                 : static_cast<T>(::__double2ull_rz(x));
    } else {
      return std::is_signed_v<T> ? static_cast<T>(::__double2int_rz(x))
                                 : static_cast<T>(::__double2uint_rz(x));
    }
  }
}

}  // namespace hidet
