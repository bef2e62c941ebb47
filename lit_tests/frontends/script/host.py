# RUN: hidet script %s --filecheck

"""Grids and blocks that the host computes, and public functions that launch kernels."""

import hidet
from hidet.lang import attrs, cast, cdiv, f32, i32, void_p
from hidet.lang.cuda import blockDim, blockIdx, gridDim, threadIdx

with hidet.script_module() as module:
    # IR-LABEL:     cuda.kernel @scale(%x : memref<?xf32>
    # IR-SAME:      grid(?, 4) block(128) limits(16777215)
    # SOURCE-LABEL: __launch_bounds__(128) scale(float* __restrict__ x, int n) {
    @hidet.script
    def scale(x: ~f32, n: i32):
        # What the extents are computed by moves to the host.
        # IR-NOT:       arith.floordivsi
        # IR:           cuda.grid_dim x
        # SOURCE:       const int grid_dim = gridDim.x;
        attrs.cuda.grid_dim = cdiv(n, 128), 4
        attrs.cuda.block_dim = 128
        # The limit of the grid makes 32 bits enough.
        # IR:           memref.store
        # SOURCE:       x[bid * 128 + tid] = 0.0f;
        x[blockIdx.x * 128 + threadIdx.x] = 0.0
        # IR:           memref.store
        # SOURCE-NEXT:  x[grid_dim] = 1.0f;
        x[gridDim.x] = 1.0
        # SOURCE:       HIDET_KERNEL(scale, 128, 1, 1,

    # IR-LABEL:     cuda.kernel @fill(%x : memref<?xf32>
    # IR-SAME:      grid(1) block(?)
    # SOURCE-LABEL: __launch_bounds__(1024) fill(float* __restrict__ x, int n) {
    @hidet.script
    def fill(x: ~f32, n: i32):
        attrs.cuda.grid_dim = 1
        # IR:           cuda.block_dim x
        # SOURCE:       const int block_dim = blockDim.x;
        attrs.cuda.block_dim = n
        # IR:           memref.store
        # SOURCE:       x[tid + block_dim] = 2.0f;
        x[threadIdx.x + blockDim.x] = 2.0
        # SOURCE:       HIDET_KERNEL(fill, 0, 1, 1,

    # IR-LABEL:     cuda.kernel @stride(
    # SOURCE-LABEL: stride(float* __restrict__ x, int n) {
    @hidet.script
    def stride(x: ~f32, n: i32):
        attrs.cuda.grid_dim = cdiv(n, 1024)
        attrs.cuda.block_dim = 256
        # A run-time step.
        # IR:           scf.for %i = %{{.*}} to %{{.*}} step %{{.*}} {
        # SOURCE:       for (long long i = {{.*}}; i < n; i += grid_dim * 256) {
        for i in range(blockIdx.x * 256 + threadIdx.x, n, gridDim.x * 256):
            x[i] = 0.0

    # What a void_p points to is told by its first use.
    # IR-LABEL:     cuda.kernel @copy(%p : memref<?xf32>
    # SOURCE-LABEL: __launch_bounds__(4) copy(
    # SOURCE-NEXT:  const float* __restrict__ p,
    @hidet.script
    def copy(p: void_p, q: void_p):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 4
        # IR:           memref.load %p[%tid]
        # IR:           memref.store %{{.*}}, %q[%tid]
        # SOURCE:       q[tid] = p[tid];
        cast(q, ~f32)[threadIdx.x] = cast(p, ~f32)[threadIdx.x]

    # IR-LABEL:     func.func @both(%x: memref<4x256xf32>, %n: i32) {
    # IR-NOT:       cuda.kernel
    # SOURCE-NOT:   both(
    @hidet.script
    def both(x: f32[4, 256], n: i32):
        # It is no kernel, and none of the files of kernels has it.
        # IR:           scf.for %i =
        # SOURCE-NOT:   for
        attrs.func_kind = "public"
        for i in range(4):
            # IR:           scf.if
            if i < n:
                # IR:           cuda.view %x[%i, %{{.*}}] : memref<4x256xf32> to memref<?xf32>
                # IR:           arith.floordivsi
                # IR:           cuda.launch @scale(%{{.*}}, %n) extents(%{{.*}}) :
                scale(~x[i, 0], n)
        # IR:           cuda.launch @fill(%{{.*}}, %{{.*}}) extents(%{{.*}}) :
        fill(x, 64)

    # Every kernel has a function that launches it alone.
    # IR-LABEL:     func.func @launch_scale(%x: memref<?xf32>, %n: i32) {
    # IR:           arith.floordivsi
    # IR:           cuda.launch @scale(%x, %n) extents(%{{.*}}) :
    # IR-LABEL:     func.func @launch_fill(%x: memref<?xf32>, %n: i32) {
    # IR:           cuda.launch @fill(%x, %n) extents(%{{.*}}) :
