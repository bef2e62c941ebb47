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

}  // namespace hidet
