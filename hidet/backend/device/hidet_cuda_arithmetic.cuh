// CUDA: arithmetic that has an instruction and no operator.
#pragma once

namespace hidet {

// A function of three bits for each bit; bit 4a + 2b + c of the table is its value (PTX ISA, lop3).
template <int table>
HIDET_DEVICE int lop3(int a, int b, int c) {
  int result;
  asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(result) : "r"(a), "r"(b), "r"(c), "n"(table));
  return result;
}

// Four of the eight bytes of b and a (PTX ISA, prmt).
HIDET_DEVICE int prmt(int a, int b, int selector) {
  return static_cast<int>(::__byte_perm(a, b, selector));
}

#if __CUDA_ARCH__ >= 800
// To 10 bits of mantissa, to the nearest and away from zero between two (PTX ISA, cvt.rna.tf32).
HIDET_DEVICE float round_tf32(float x) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return ::__uint_as_float(bits);
}
#endif

// ---- bits of words of 32 or 64 bits ------------------------------------------------------------------
// CUDA Math API, "Integer Intrinsics".

template <typename T>
HIDET_DEVICE int popc(T x) {
  return sizeof(T) == 8 ? ::__popcll(x) : ::__popc(x);
}

// Zeros above the highest bit set.
template <typename T>
HIDET_DEVICE int clz(T x) {
  return sizeof(T) == 8 ? ::__clzll(x) : ::__clz(x);
}

// The place of the lowest bit set, from 1 on; 0 where there is none.
template <typename T>
HIDET_DEVICE int ffs(T x) {
  return sizeof(T) == 8 ? ::__ffsll(x) : ::__ffs(x);
}

// The bits turned round.
template <typename T>
HIDET_DEVICE T brev(T x) {
  return static_cast<T>(sizeof(T) == 8 ? ::__brevll(x) : ::__brev(x));
}

// The upper word of high:low shifted left, the lower one of it shifted right.
HIDET_DEVICE int funnelshift_l(int low, int high, int count) {
  return ::__funnelshift_l(low, high, count);
}
HIDET_DEVICE int funnelshift_lc(int low, int high, int count) {
  return ::__funnelshift_lc(low, high, count);
}
HIDET_DEVICE int funnelshift_r(int low, int high, int count) {
  return ::__funnelshift_r(low, high, count);
}
HIDET_DEVICE int funnelshift_rc(int low, int high, int count) {
  return ::__funnelshift_rc(low, high, count);
}

// ---- fast functions --------------------------------------------------------------------------------
// PTX ISA, "Floating Point Instructions", with .approx.

#define HIDET_FAST(name, instruction)                                \
  HIDET_DEVICE float fast_##name(float x) {                          \
    float result;                                                    \
    asm(instruction " %0, %1;" : "=f"(result) : "f"(x));             \
    return result;                                                   \
  }

HIDET_FAST(exp2, "ex2.approx.ftz.f32")
HIDET_FAST(log2, "lg2.approx.ftz.f32")
HIDET_FAST(sin, "sin.approx.ftz.f32")
HIDET_FAST(cos, "cos.approx.ftz.f32")
HIDET_FAST(tanh, "tanh.approx.f32")
HIDET_FAST(rcp, "rcp.approx.ftz.f32")
HIDET_FAST(rsqrt, "rsqrt.approx.ftz.f32")
HIDET_FAST(sqrt, "sqrt.approx.ftz.f32")

HIDET_DEVICE float fast_divide(float x, float y) {
  float d;
  asm("div.full.f32 %0, %1, %2;" : "=f"(d) : "f"(x), "f"(y));
  return d;
}

}  // namespace hidet
