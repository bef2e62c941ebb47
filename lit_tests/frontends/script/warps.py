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
    syncwarp,
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
        x[3, i] = shfl_xor_sync(0xFFFFFFFF, a, 8)
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

    # A subset of the lanes of a warp, which may be in a branch.

    # IR-LABEL:     cuda.kernel @lanes
    # SOURCE-LABEL: lanes(
    @hidet.script
    def lanes(x: f32[32], y: u32[32]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        value = x[threadIdx.x]
        # IR:     %mask = cuda.vote ballot %{{.*}} : i32
        # SOURCE: mask = hidet::ballot(cond);
        mask = ballot_sync(0xFFFFFFFF, value > 0)
        # IR:     scf.if
        # SOURCE: if (cond) {
        if value > 0:
            # IR:     cuda.shfl idx %value, %{{.*}} mask %mask : f32
            # SOURCE: x[tid] = hidet::shfl(value, 3, 32, mask);
            x[threadIdx.x] = shfl_sync(mask, value, 3)
            # IR:     cuda.vote any %{{.*}} mask %mask : i1
            # SOURCE: hidet::any(value > 1.0f, mask)
            y[threadIdx.x] = any_sync(mask, value > 1)
            # IR:     cuda.sync_warp mask %mask
            # SOURCE: hidet::sync_warp(mask);
            syncwarp(mask)
            # IR:     %active = cuda.active_mask
            # SOURCE: const unsigned active = hidet::active_mask();
            active = active_mask()
            # IR:     cuda.shfl idx %value, %{{.*}} mask %active : f32
            # SOURCE: x[tid] = hidet::shfl(value, 0, 32, active);
            x[threadIdx.x] = shfl_sync(active, value, 0)
        if threadIdx.x < 4:
            # IR:     cuda.shfl xor %value, %{{.*}} width 4 mask %{{.*}} : f32
            # SOURCE: x[tid] = hidet::shfl_xor(value, 1, 4, 15);
            x[threadIdx.x] = shfl_xor_sync(0xF, value, 1, 4)
