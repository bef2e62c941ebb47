// CUDA: arithmetic on two halves at once (PTX ISA, "Half Precision Floating-Point Instructions").
//
// The functions with _rn are those that the compiler never contracts to a multiplication with addition.
#pragma once

namespace hidet {

#define HIDET_PACKED(T)                                                   \
  HIDET_DEVICE T packed_add(T a, T b) { return ::__hadd2_rn(a, b); }      \
  HIDET_DEVICE T packed_sub(T a, T b) { return ::__hsub2_rn(a, b); }      \
  HIDET_DEVICE T packed_mul(T a, T b) { return ::__hmul2_rn(a, b); }      \
  HIDET_DEVICE T packed_fma(T a, T b, T c) { return ::__hfma2(a, b, c); } \
  HIDET_DEVICE T packed_min(T a, T b) { return ::__hmin2(a, b); }         \
  HIDET_DEVICE T packed_max(T a, T b) { return ::__hmax2(a, b); }         \
  HIDET_DEVICE T packed_neg(T a) { return ::__hneg2(a); }                 \
  HIDET_DEVICE T packed_abs(T a) { return ::__habs2(a); }

HIDET_PACKED(half2)
HIDET_PACKED(bfloat162)

}  // namespace hidet
