// CPU: arithmetic that the GPU has an instruction for.
#pragma once

namespace hidet {

// A function of three bits for each bit; bit 4a + 2b + c of the table is its value (PTX ISA, lop3).
template <int table>
HIDET_DEVICE int lop3(int a, int b, int c) {
  int result = 0;
  for (int bits = 0; bits < 8; ++bits) {
    if (table >> bits & 1) {
      result |= (bits & 4 ? a : ~a) & (bits & 2 ? b : ~b) & (bits & 1 ? c : ~c);
    }
  }
  return result;
}

// Four of the eight bytes of b and a (PTX ISA, prmt).
HIDET_DEVICE int prmt(int a, int b, int selector) {
  const unsigned long long bytes =
      static_cast<unsigned long long>(static_cast<unsigned>(b)) << 32 | static_cast<unsigned>(a);
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = selector >> 4 * i & 15;
    unsigned byte = static_cast<unsigned>(bytes >> 8 * (digit & 7) & 255);
    if (digit & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << 8 * i;
  }
  return static_cast<int>(result);
}

// To 10 bits of mantissa, to the nearest and away from zero between two (PTX ISA, cvt.rna.tf32).
HIDET_DEVICE float round_tf32(float x) {
  if (x != x) return x;
  const auto bits = __builtin_bit_cast(unsigned, x);
  return __builtin_bit_cast(float, (bits + 0x1000u) & ~0x1fffu);
}

// ---- bits of words of 32 or 64 bits ------------------------------------------------------------------

template <typename T>
HIDET_DEVICE int popc(T x) {
  return sizeof(T) == 8 ? __builtin_popcountll(x) : __builtin_popcount(x);
}

// Zeros above the highest bit set.
template <typename T>
HIDET_DEVICE int clz(T x) {
  if (x == 0) return sizeof(T) * 8;
  return sizeof(T) == 8 ? __builtin_clzll(x) : __builtin_clz(x);
}

// The place of the lowest bit set, from 1 on; 0 where there is none.
template <typename T>
HIDET_DEVICE int ffs(T x) {
  return sizeof(T) == 8 ? __builtin_ffsll(x) : __builtin_ffs(x);
}

// The bits turned round.
template <typename T>
HIDET_DEVICE T brev(T x) {
  using U = std::make_unsigned_t<T>;
  const U bits = static_cast<U>(x);
  U result = 0;
  for (unsigned i = 0; i < sizeof(T) * 8; ++i) result |= (bits >> i & 1) << (sizeof(T) * 8 - 1 - i);
  return static_cast<T>(result);
}

namespace cpu {

HIDET_DEVICE unsigned long long joined(int low, int high) {
  return static_cast<unsigned long long>(static_cast<unsigned>(high)) << 32 |
         static_cast<unsigned>(low);
}

HIDET_DEVICE int at_most_32(int count) {
  return static_cast<unsigned>(count) < 32 ? count : 32;
}

}  // namespace cpu

// The upper word of high:low shifted left, the lower one of it shifted right.
HIDET_DEVICE int funnelshift_lc(int low, int high, int count) {
  return static_cast<int>(cpu::joined(low, high) << cpu::at_most_32(count) >> 32);
}
HIDET_DEVICE int funnelshift_rc(int low, int high, int count) {
  return static_cast<int>(cpu::joined(low, high) >> cpu::at_most_32(count));
}
HIDET_DEVICE int funnelshift_l(int low, int high, int count) {
  return funnelshift_lc(low, high, count & 31);
}
HIDET_DEVICE int funnelshift_r(int low, int high, int count) {
  return funnelshift_rc(low, high, count & 31);
}

// ---- fast functions --------------------------------------------------------------------------------
// Precise here.

HIDET_DEVICE float fast_exp2(float x) { return __builtin_exp2f(x); }
HIDET_DEVICE float fast_log2(float x) { return __builtin_log2f(x); }
HIDET_DEVICE float fast_sin(float x) { return __builtin_sinf(x); }
HIDET_DEVICE float fast_cos(float x) { return __builtin_cosf(x); }
HIDET_DEVICE float fast_tanh(float x) { return __builtin_tanhf(x); }
HIDET_DEVICE float fast_rcp(float x) { return 1.0f / x; }
HIDET_DEVICE float fast_rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
HIDET_DEVICE float fast_sqrt(float x) { return __builtin_sqrtf(x); }
HIDET_DEVICE float fast_divide(float x, float y) { return x / y; }

}  // namespace hidet
