// CUDA: where the elementary functions come from, and those that have an instruction.
#pragma once

#define HIDET_LIBM(name) ::name

namespace hidet {

HIDET_DEVICE float rsqrt(float x) { return ::rsqrtf(x); }
HIDET_DEVICE double rsqrt(double x) { return ::rsqrt(x); }
HIDET_DEVICE float pow(float x, float y) { return ::powf(x, y); }
HIDET_DEVICE double pow(double x, double y) { return ::pow(x, y); }

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

// The larger or smaller number, the other one if one of them is NaN: as torch.fmax and torch.fmin.
HIDET_DEVICE float fmax(float a, float b) { return ::fmaxf(a, b); }
HIDET_DEVICE double fmax(double a, double b) { return ::fmax(a, b); }
HIDET_DEVICE float fmin(float a, float b) { return ::fminf(a, b); }
HIDET_DEVICE double fmin(double a, double b) { return ::fmin(a, b); }

}  // namespace hidet
