// wgmma with operands of type half: wgmma_m64n8k16_f16_f32 ... and the same with _rs.
//
// Kernels include these files as they need them: reading all 192 functions takes nvcc 0.1 s, most of the
// time of a small kernel.
#pragma once

#include "hidet.h"

namespace hidet {

HIDET_WGMMA_SHAPES(HIDET_WGMMA_F16)

}  // namespace hidet
