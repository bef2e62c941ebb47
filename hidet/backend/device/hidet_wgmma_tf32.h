// wgmma with operands of type float, of which tf32 takes the upper 19 bits: wgmma_m64n8k8_tf32_f32 ...
// and the same with _rs.
#pragma once

#include "hidet.h"

namespace hidet {

HIDET_WGMMA_SHAPES(HIDET_WGMMA_TF32)

}  // namespace hidet
