// wgmma with operands of type bfloat16: wgmma_m64n8k16_bf16_f32 ... and the same with _rs.
#pragma once

#include "hidet.h"

namespace hidet {

HIDET_WGMMA_SHAPES(HIDET_WGMMA_BF16)

}  // namespace hidet
