// CUDA: arithmetic on two halves at once (PTX ISA, "Half Precision Floating-Point Instructions"); since
// sm_80. With .rn the compiler never contracts an operation with another.
#pragma once

namespace hidet {

#if __CUDA_ARCH__ >= 800

#define HIDET_PACKED_OF(T, name, parameters, text, ...) \
  HIDET_DEVICE T packed_##name parameters {             \
    unsigned result;                                    \
    asm("{" text "}\n" : "=r"(result) : __VA_ARGS__);   \
    return bit_cast<T>(result);                         \
  }
#define HIDET_WORD(x) "r"(bit_cast<unsigned>(x))
#define HIDET_PACKED1(T, name, instruction) \
  HIDET_PACKED_OF(T, name, (T a), instruction " %0, %1;", HIDET_WORD(a))
#define HIDET_PACKED2(T, name, instruction) \
  HIDET_PACKED_OF(T, name, (T a, T b), instruction " %0, %1, %2;", HIDET_WORD(a), HIDET_WORD(b))
#define HIDET_PACKED(T, type)                                                                \
  HIDET_PACKED_OF(T, fma, (T a, T b, T c), "fma.rn." type " %0, %1, %2, %3;", HIDET_WORD(a), \
                  HIDET_WORD(b), HIDET_WORD(c))                                              \
  HIDET_PACKED2(T, min, "min." type)                                                         \
  HIDET_PACKED2(T, max, "max." type)                                                         \
  HIDET_PACKED1(T, neg, "neg." type)                                                         \
  HIDET_PACKED1(T, abs, "abs." type)
#define HIDET_PACKED_SUMS(T, type)      \
  HIDET_PACKED2(T, add, "add.rn." type) \
  HIDET_PACKED2(T, sub, "sub.rn." type) \
  HIDET_PACKED2(T, mul, "mul.rn." type)

HIDET_PACKED(half2, "f16x2")
HIDET_PACKED_SUMS(half2, "f16x2")
HIDET_PACKED(bfloat162, "bf16x2")
#if __CUDA_ARCH__ >= 900
HIDET_PACKED_SUMS(bfloat162, "bf16x2")
#else
// By fma with pairs of 1, -1 and -0.
HIDET_DEVICE bfloat162 packed_add(bfloat162 a, bfloat162 b) {
  return packed_fma(a, bit_cast<bfloat162>(0x3f803f80u), b);
}
HIDET_DEVICE bfloat162 packed_sub(bfloat162 a, bfloat162 b) {
  return packed_fma(b, bit_cast<bfloat162>(0xbf80bf80u), a);
}
HIDET_DEVICE bfloat162 packed_mul(bfloat162 a, bfloat162 b) {
  return packed_fma(a, b, bit_cast<bfloat162>(0x80008000u));
}
#endif

#endif  // sm_80

}  // namespace hidet
