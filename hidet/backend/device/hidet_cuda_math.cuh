// CUDA: elementary functions that are not the same on the CPU.
#pragma once

namespace hidet {

HIDET_UNARY(rsqrt, rsqrt)
HIDET_BINARY(pow, pow)

// The larger or smaller number, the other one if one of them is NaN: as torch.fmax and torch.fmin.
HIDET_BINARY(fmax, fmax)
HIDET_BINARY(fmin, fmin)

// The larger or smaller number, NaN if one of them is NaN: as torch.maximum and torch.minimum.
// One instruction for float since sm_80 (PTX ISA, max and min, `.NaN`).
HIDET_DEVICE float maximum(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
#else
  return a > b || a != a ? a : b;
#endif
}

HIDET_DEVICE float minimum(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
#else
  return a < b || a != a ? a : b;
#endif
}

HIDET_DEVICE double maximum(double a, double b) { return a > b || a != a ? a : b; }
HIDET_DEVICE double minimum(double a, double b) { return a < b || a != a ? a : b; }

}  // namespace hidet
