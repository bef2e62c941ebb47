// CPU: names of instructions that have no body here yet. A kernel that calls one does not compile, and
// the message says why.
#pragma once

namespace hidet {

struct TensorMap {
  unsigned long long opaque[16];
};

#define HIDET_NO_CPU_BODY(name)                                                           \
  template <auto... options, typename... Arguments>                                       \
  long long name(const Arguments&...) {                                                   \
    static_assert(sizeof...(Arguments) > 99, "hidet::" #name " has no body for the CPU yet"); \
    return 0;                                                                             \
  }

HIDET_NO_CPU_BODY(matrix_descriptor)
HIDET_NO_CPU_BODY(wgmma_fence)
HIDET_NO_CPU_BODY(wgmma_commit)
HIDET_NO_CPU_BODY(wgmma_wait)
HIDET_NO_CPU_BODY(wgmma_fence_operand)
HIDET_NO_CPU_BODY(wgmma_m64n8k16_f16_f32)
HIDET_NO_CPU_BODY(wgmma_m64n16k16_f16_f32)
HIDET_NO_CPU_BODY(wgmma_m64n32k16_f16_f32)
HIDET_NO_CPU_BODY(wgmma_m64n64k16_f16_f32)
HIDET_NO_CPU_BODY(wgmma_m64n96k16_f16_f32)
HIDET_NO_CPU_BODY(wgmma_m64n128k16_f16_f32)
HIDET_NO_CPU_BODY(wgmma_m64n160k16_f16_f32)
HIDET_NO_CPU_BODY(wgmma_m64n192k16_f16_f32)
HIDET_NO_CPU_BODY(wgmma_m64n224k16_f16_f32)
HIDET_NO_CPU_BODY(wgmma_m64n256k16_f16_f32)
HIDET_NO_CPU_BODY(wgmma_m64n8k16_bf16_f32)
HIDET_NO_CPU_BODY(wgmma_m64n16k16_bf16_f32)
HIDET_NO_CPU_BODY(wgmma_m64n32k16_bf16_f32)
HIDET_NO_CPU_BODY(wgmma_m64n64k16_bf16_f32)
HIDET_NO_CPU_BODY(wgmma_m64n96k16_bf16_f32)
HIDET_NO_CPU_BODY(wgmma_m64n128k16_bf16_f32)
HIDET_NO_CPU_BODY(wgmma_m64n160k16_bf16_f32)
HIDET_NO_CPU_BODY(wgmma_m64n192k16_bf16_f32)
HIDET_NO_CPU_BODY(wgmma_m64n224k16_bf16_f32)
HIDET_NO_CPU_BODY(wgmma_m64n256k16_bf16_f32)
HIDET_NO_CPU_BODY(mbarrier_init)
HIDET_NO_CPU_BODY(mbarrier_arrive)
HIDET_NO_CPU_BODY(mbarrier_arrive_expect_tx)
HIDET_NO_CPU_BODY(mbarrier_wait)
HIDET_NO_CPU_BODY(fence_mbarrier_init)
HIDET_NO_CPU_BODY(fence_proxy_async)
HIDET_NO_CPU_BODY(tma_load)
HIDET_NO_CPU_BODY(tma_store)
HIDET_NO_CPU_BODY(tma_commit)
HIDET_NO_CPU_BODY(tma_wait)

#undef HIDET_NO_CPU_BODY

}  // namespace hidet
