// CPU: conversions of half and bfloat16.
#pragma once

#include <cstdint>
#include <type_traits>

#include "hidet_types.h"

namespace hidet {

#if defined(__aarch64__) || (defined(__F16C__) && __GNUC__ >= 12)

// The machine converts, in one instruction.
#if defined(__aarch64__)
using NativeHalf = __fp16;
#else
using NativeHalf = _Float16;
#endif

HIDET_DEVICE float to_float(half x) {
  return static_cast<float>(__builtin_bit_cast(NativeHalf, x));
}

HIDET_DEVICE half to_half(float x) {
  return __builtin_bit_cast(half, static_cast<NativeHalf>(x));
}

#else

// half: 1 sign bit, 5 exponent bits (bias 15), 10 mantissa bits.
// float: 1 sign bit, 8 exponent bits (bias 127), 23 mantissa bits.
HIDET_DEVICE float to_float(half x) {
  const std::uint32_t sign = (x.bits & 0x8000u) << 16;
  const std::uint32_t magnitude = x.bits & 0x7fffu;
  // Move the mantissa into place, then correct the bias of the exponent by a multiplication, which
  // normalises the subnormal numbers on the way. It is exact.
  const float scaled = __builtin_bit_cast(float, magnitude << 13) * 0x1p112f;
  std::uint32_t bits = __builtin_bit_cast(std::uint32_t, scaled);
  if (magnitude >= 0x7c00u) bits |= 0x7f800000u;  // infinity or NaN
  return __builtin_bit_cast(float, bits | sign);
}

HIDET_DEVICE half to_half(float x) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, x);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t result;
  if (magnitude > 0x7f800000u) {
    result = 0x7e00u;  // NaN
  } else if (magnitude >= 0x477ff000u) {
    result = 0x7c00u;  // 65520 and more round to infinity
  } else if (magnitude < 0x38800000u) {
    // Below 2^-14 the result is subnormal, a multiple of 2^-24. In 0.5 + x the last mantissa bit is
    // worth 2^-24, so that the addition rounds where we need it.
    const float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
    result = __builtin_bit_cast(std::uint32_t, shifted) - 0x3f000000u;
  } else {
    // Correct the bias, and round to nearest even: add just under half of the last bit that stays,
    // and one more where that bit is set. A carry into the exponent is right.
    result = (magnitude - (112u << 23) + 0x0fffu + ((magnitude >> 13) & 1u)) >> 13;
  }
  return {static_cast<std::uint16_t>(result | sign)};
}

#endif

HIDET_DEVICE float to_float(bfloat16 x) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(x.bits) << 16);
}

HIDET_DEVICE bfloat16 to_bfloat16(float x) {
  return rounded_to_bfloat16(__builtin_bit_cast(std::uint32_t, x));
}

// The integer towards zero; the nearest one where T has none, and 0 for NaN.
template <typename T, typename S>
HIDET_DEVICE T to_integer(S x) {
  constexpr bool is_signed = std::is_signed_v<T>;
  using U = std::make_unsigned_t<T>;
  constexpr T largest = static_cast<T>(static_cast<U>(~U(0)) >> is_signed);
  constexpr S end = static_cast<S>(largest / 2 + 1) * 2;  // a power of two, the first beyond
  const T inside = (is_signed ? x >= -end : x > S(-1)) && x < end ? static_cast<T>(x) : T(0);
  const T above = x >= end ? largest : inside;
  return is_signed && x < -end ? static_cast<T>(-largest - 1) : above;
}

}  // namespace hidet
