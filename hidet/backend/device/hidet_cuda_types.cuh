// CUDA: half and bfloat16 are the types of the toolkit.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace hidet {

using half = ::__half;
using bfloat16 = ::__nv_bfloat16;
using half2 = ::__half2;
using bfloat162 = ::__nv_bfloat162;

HIDET_DEVICE float to_float(half x) { return ::__half2float(x); }
HIDET_DEVICE float to_float(bfloat16 x) { return ::__bfloat162float(x); }
HIDET_DEVICE half to_half(float x) { return ::__float2half_rn(x); }
HIDET_DEVICE bfloat16 to_bfloat16(float x) { return ::__float2bfloat16_rn(x); }

}  // namespace hidet
