# RUN: hidet script %s --filecheck

"""Kernels of the CPU: plain loops of C++, shared by the cores where they are parallel."""

import hidet
from hidet.lang import attrs, f32, grid, i32

with hidet.script_module() as module:

    @hidet.script
    def half(x: f32) -> f32:
        # It becomes a part of what calls it.
        # IR-NOT:       cuda.kernel @half
        # SOURCE-NOT:   half(
        attrs.func_kind = "cpu_internal"
        return x * 0.5

    # IR-LABEL:     cuda.kernel @transpose(
    # SOURCE-LABEL: static void transpose(
    @hidet.script
    def transpose(x: f32[64, 32], y: f32[32, 64], n: i32):
        # IR-SAME:      grid(1) block(1) attributes {cuda.on_cpu
        # SOURCE-NOT:   __global__
        attrs.func_kind = "cpu_kernel"
        # IR:           scf.for %i =
        # IR:           scf.for %j =
        # SOURCE:       #pragma omp parallel for{{$}}
        # SOURCE-NEXT:  for (int i = 0; i < 64; ++i) {
        # SOURCE-NEXT:    for (int j = 0; j < 32; ++j) {
        for i, j in grid(64, 32, attrs="p"):
            # SOURCE-NEXT:    y[i + j * 64] = x[i * 32 + j] * 0.5f;
            # IR:           memref.store
            y[j, i] = half(x[i, j])
        # IR:           } {cuda.parallel}
        # IR:           scf.for %i
        # SOURCE:       #pragma omp parallel for num_threads(4)
        # SOURCE-NEXT:  for (int i = 0; i < n; ++i) {
        # SOURCE:         #pragma unroll 2
        for i, j in grid(n, 4, attrs="p4u2"):
            y[i, j] = 0.0
        # IR:           } {cuda.unroll = 2 : i64}
        # IR:           } {cuda.parallel = 4 : i64}
        # SOURCE:       HIDET_CPU_FUNCTION(transpose)

    # IR-LABEL:     func.func @launch(
    # IR-NEXT:      cuda.launch @transpose(%x, %y, %n) : (
