# RUN: hidet script %s --filecheck

"""The attributes of script functions."""

import hidet
from hidet.lang import attr, attrs, f32
from hidet.lang.cuda import threadIdx

with hidet.script_module() as module:

    @hidet.script
    def half(x: f32) -> f32:
        # A function that is called becomes a part of the kernel.
        # IR-NOT:       cuda.kernel @half
        # SOURCE-NOT:   half(
        attrs.func_kind = "cuda_internal"
        return x * 0.5

    @hidet.script
    def kernel(x: f32[64]):
        # IR-LABEL:     cuda.kernel @named(%x : memref<64xf32>)
        # SOURCE-LABEL: // named: writes half of it
        attrs.func_name = "named"
        # IR-SAME:      grid(2, 4, 8)
        # SOURCE:       extern "C" __global__
        attrs.cuda.grid_dim = 2, 4, 8
        # IR-SAME:      block(32, 2)
        # SOURCE-SAME:  __launch_bounds__(64,
        attr.cuda_block_dim = 32, 2
        # IR-SAME:      attributes {cuda.explicit, cuda.min_blocks = 3 : i64
        # SOURCE-SAME:  3) named(float* __restrict__ x) {
        attrs.cuda.min_blocks = 3
        # IR-SAME:      cuda.label = "writes half of it"
        # SOURCE-NEXT:  const int tx = threadIdx.x;
        attrs.label = "writes half of it"
        # IR-NOT:       cluster
        # SOURCE-NOT:   cluster
        attrs.cuda.cluster_dim = 1
        # IR-NOT:       dynamic
        # SOURCE-NOT:   dynamic
        attrs.cuda.dynamic_smem_bytes = 0
        x[threadIdx.x] = half(x[threadIdx.y])

    # IR-LABEL:     cuda.kernel @second
    # SOURCE-LABEL: second(
    @hidet.script
    def second(x: f32[64]):
        # IR-SAME:      grid(1) block(32)
        # SOURCE-NEXT:  x[0] = 0.0f;
        attrs.func_kind = "cuda_kernel"
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        x[0] = 0.0
