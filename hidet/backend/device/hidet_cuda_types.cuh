// CUDA: half and bfloat16 are the types of the toolkit.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

namespace hidet {

using half = ::__half;
using bfloat16 = ::__nv_bfloat16;
using half2 = ::__half2;
using bfloat162 = ::__nv_bfloat162;

HIDET_DEVICE float to_float(half x) { return ::__half2float(x); }
HIDET_DEVICE float to_float(bfloat16 x) { return ::__bfloat162float(x); }
HIDET_DEVICE half to_half(float x) { return ::__float2half_rn(x); }
HIDET_DEVICE bfloat16 to_bfloat16(float x) { return ::__float2bfloat16_rn(x); }

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
    return static_cast<T>(::min(::max(number, smallest), largest));
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
