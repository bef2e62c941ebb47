# RUN: hidet script %s --filecheck

"""Functions that run on the CPU."""

import hidet
from hidet.lang import attrs, f32

with hidet.script_module() as module:

    @hidet.script
    def half(x: f32) -> f32:
        # It becomes a part of the kernel.
        # IR-NOT:       @half
        # SOURCE-NOT:   half(
        attrs.func_kind = "cpu_internal"
        return x * 0.5

    @hidet.script
    def kernel(x: f32[64]):
        # IR:           cuda.kernel @kernel(%x : memref<64xf32>) grid(1) block(1) attributes {cuda.on_cpu
        # SOURCE:       __launch_bounds__(1) kernel(float* __restrict__ x) {
        attrs.func_kind = "cpu_kernel"
        # IR:           scf.for
        # SOURCE-NEXT:  for (int i = 0; i < 64; ++i) {
        for i in range(64):
            # IR:           arith.mulf
            # SOURCE-NEXT:  x[i] *= 0.5f;
            x[i] = half(x[i])
