// half and bfloat16, infinity and NaN, for both compilers.
//
// The types are two bytes and nothing else: no operators, since kernels do all arithmetic in float and
// convert explicitly, with hidet::cast. Conversions to them round to nearest even, keep subnormal
// numbers, and map NaN to NaN.
#pragma once

#if !defined(INFINITY)
#define INFINITY __builtin_inff()
#endif
#if !defined(NAN)
#define NAN __builtin_nanf("")
#endif

namespace hidet {

struct half {
  unsigned short bits;
};

struct bfloat16 {
  unsigned short bits;
};

// Two of them that are computed together.
struct alignas(4) half2 {
  half x, y;
};

struct alignas(4) bfloat162 {
  bfloat16 x, y;
};

// The bfloat16 closest to the float with these bits, of which it has the upper half.
HIDET_DEVICE bfloat16 rounded_to_bfloat16(unsigned bits) {
  const unsigned rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return {static_cast<unsigned short>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded)};
}

}  // namespace hidet
