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

#undef HIDET_FAST

}  // namespace hidet
