# RUN: hidet script %s --filecheck

"""Asynchronous copies into shared memory, plain and swizzled."""

import hidet
from hidet.lang import attrs, f16, f32, i32, row_major, shared_tensor, spatial
from hidet.lang.cuda import (
    cp_async,
    cp_async_commit_group,
    cp_async_wait_all,
    cp_async_wait_group,
    threadIdx,
)

with hidet.script_module() as module:
    # IR-LABEL:     cuda.kernel @copies
    # SOURCE-LABEL: copies(
    @hidet.script
    def copies(x: f32[2, 128], y: f32[2, 128], p: ~f32, size: i32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        i = threadIdx.x * 4
        smem = shared_tensor("f32", [2, 128])
        # TASK:   cuda.cp_async cg %x[%{{.*}}, %i] to %smem[%{{.*}}, %i] width 4 :
        # CUDA:   cuda.cp_async cg %x[%{{.*}}, %i] to %smem[%{{.*}}, %i] width 4 :
        # FINAL:  cuda.cp_async cg %x[%i] to %smem[%{{.*}}, %i] width 4 :
        # SOURCE: hidet::cp_async_cg<4>(&smem[0][i], &x[i]);
        cp_async(~smem[0, i], ~x[0, i], cp_size=16, cache_level="global")
        # IR:     cuda.cp_async_commit
        # SOURCE: hidet::cp_async_commit();
        cp_async_commit_group()
        # IR:     cuda.cp_async ca %p[%{{.*}}] to %smem[%{{.*}}] width 2 valid %{{.*}} :
        # SOURCE: hidet::cp_async_ca<2>(&smem[1][i], &p[i], size >> 2);
        cp_async(~smem[1, i], p + i, cp_size=8, src_size=size)
        # IR:     cuda.cp_async_wait 1
        # SOURCE: hidet::cp_async_wait<1>();
        cp_async_wait_group(1)
        y[0, i] = smem[0, i]
        # IR:          cuda.cp_async_commit
        # IR-NEXT:     cuda.cp_async_wait 0
        # SOURCE:      hidet::cp_async_commit();
        # SOURCE-NEXT: hidet::cp_async_wait<0>();
        cp_async_wait_all()
        y[1, i] = smem[1, i]

    # IR-LABEL:     cuda.kernel @swizzled
    # SOURCE-LABEL: swizzled(
    @hidet.script
    def swizzled(x: f16[16, 32], y: f16[16, 4]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 64
        # IR:     %smem = memref.alloca(){{.*}} : memref<16x32xf16, #cuda.space<shared>>
        # SOURCE: hidet::half smem[16][32];
        smem = shared_tensor(
            "f16", layout=row_major(16, 4).swizzle(1, log_step=1) * row_major(1, 8)
        )
        for i, j in spatial(16, 4).on(threadIdx.x):
            # IR:     arith.xori
            # TASK:   arith.subi
            # CUDA:   arith.subi
            # IR:     cuda.cp_async ca %x[{{.*}} to %smem[
            # SOURCE: const int offset = ((tid % 4) ^ (tid / 8 % 4)) * 8;
            # SOURCE: hidet::cp_async_ca<8>(&smem[i][offset], &x[tid * 8]);
            cp_async(~smem[i, j * 8], ~x[i, j * 8], cp_size=16)
        cp_async_wait_all()
        for i, j in spatial(16, 4).on(threadIdx.x):
            y[i, j] = smem[i, j * 8]
