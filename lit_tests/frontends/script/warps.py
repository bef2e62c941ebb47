# RUN: hidet script %s --filecheck

"""Shuffles and votes of a warp."""

import hidet
from hidet.lang import attrs, f32, u32
from hidet.lang.cuda import (
    active_mask,
    all_sync,
    any_sync,
    ballot_sync,
    shfl_down_sync,
    shfl_sync,
    shfl_up_sync,
    shfl_xor_sync,
    threadIdx,
)

with hidet.script_module() as module:
    # IR-LABEL:     cuda.kernel @warps
    # SOURCE-LABEL: warps(
    @hidet.script
    def warps(x: f32[8, 32], y: u32[32], a: f32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        i = threadIdx.x
        # IR:     cuda.shfl idx
        # SOURCE: hidet::shfl(a, 3)
        x[0, i] = shfl_sync(0xFFFFFFFF, a, 3)
        # IR:     cuda.shfl up
        # SOURCE: hidet::shfl_up(a, 1)
        x[1, i] = shfl_up_sync(0xFFFFFFFF, a, 1)
        # IR:     cuda.shfl down
        # SOURCE: hidet::shfl_down(a, 16)
        x[2, i] = shfl_down_sync(0xFFFFFFFF, a, 16)
        # IR:     cuda.shfl xor
        # SOURCE: hidet::shfl_xor(a, 8)
        x[3, i] = shfl_xor_sync(active_mask(), a, 8)
        # IR:     cuda.shfl down {{.*}} width 8 : f32
        # SOURCE: hidet::shfl_down(a, 4, 8)
        x[6, i] = shfl_down_sync(0xFFFFFFFF, a, 4, width=8)
        # IR:     cuda.vote any
        # SOURCE: hidet::any(a > 0.0f)
        x[4, i] = any_sync(0xFFFFFFFF, a > 0)
        # IR:     cuda.vote all
        # SOURCE: hidet::all(a > 1.0f)
        x[5, i] = all_sync(0xFFFFFFFF, a > 1)
        # IR:     cuda.vote ballot
        # SOURCE: hidet::ballot(a > 2.0f)
        y[i] = ballot_sync(0xFFFFFFFF, a > 2)
