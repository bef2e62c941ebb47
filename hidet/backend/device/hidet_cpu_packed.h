// CPU: arithmetic on two halves at once.
//
// Each element is computed in float and rounded to 16 bits. For a sum, a difference and a product that
// is as good as rounding once: a float has more than twice as many bits.
#pragma once

namespace hidet {

namespace cpu {

// x * y + z, so that rounding it to 16 bits is its only rounding: where a float does not hold it, the
// last bit of the float is 1 (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved
// algorithms using rounding to odd"). The product is exact in double, and so is what its sum loses.
static inline float fma_to_odd(float x, float y, float z) {
  const double product = static_cast<double>(x) * static_cast<double>(y);
  const double sum = product + static_cast<double>(z);
  const double added = sum - product;
  const double lost = (product - (sum - added)) + (static_cast<double>(z) - added);
  const float rounded = static_cast<float>(sum);
  const double rest = sum != static_cast<double>(rounded) ? sum - static_cast<double>(rounded) : lost;
  const bool is_odd = (__builtin_bit_cast(std::uint32_t, rounded) & 1) != 0;
  if (is_odd || rest != rest || rest == 0) return rounded;
  return __builtin_nextafterf(rounded, rest > 0 ? __builtin_inff() : -__builtin_inff());
}

}  // namespace cpu

#define HIDET_PACKED(T, round)                                                                        \
  HIDET_DEVICE T packed_add(T a, T b) {                                                               \
    return {round(to_float(a.x) + to_float(b.x)), round(to_float(a.y) + to_float(b.y))};              \
  }                                                                                                   \
  HIDET_DEVICE T packed_sub(T a, T b) {                                                               \
    return {round(to_float(a.x) - to_float(b.x)), round(to_float(a.y) - to_float(b.y))};              \
  }                                                                                                   \
  HIDET_DEVICE T packed_mul(T a, T b) {                                                               \
    return {round(to_float(a.x) * to_float(b.x)), round(to_float(a.y) * to_float(b.y))};              \
  }                                                                                                   \
  HIDET_DEVICE T packed_fma(T a, T b, T c) {                                                          \
    return {round(cpu::fma_to_odd(to_float(a.x), to_float(b.x), to_float(c.x))),                      \
            round(cpu::fma_to_odd(to_float(a.y), to_float(b.y), to_float(c.y)))};                     \
  }                                                                                                   \
  HIDET_DEVICE T packed_min(T a, T b) {                                                               \
    return {round(fmin(to_float(a.x), to_float(b.x))), round(fmin(to_float(a.y), to_float(b.y)))};    \
  }                                                                                                   \
  HIDET_DEVICE T packed_max(T a, T b) {                                                               \
    return {round(fmax(to_float(a.x), to_float(b.x))), round(fmax(to_float(a.y), to_float(b.y)))};    \
  }                                                                                                   \
  HIDET_DEVICE T packed_neg(T a) { return {round(-to_float(a.x)), round(-to_float(a.y))}; }           \
  HIDET_DEVICE T packed_abs(T a) { return {round(abs(to_float(a.x))), round(abs(to_float(a.y)))}; }

HIDET_PACKED(half2, to_half)
HIDET_PACKED(bfloat162, to_bfloat16)

}  // namespace hidet
