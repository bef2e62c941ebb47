# RUN: hidet script %s --filecheck

"""Barriers of the block and of a warp."""

import hidet
from hidet.lang import attrs, f32, i32, shared_tensor
from hidet.lang.cuda import (
    bar_sync,
    nano_sleep,
    syncthreads,
    syncthreads_and,
    syncthreads_count,
    syncthreads_or,
    syncwarp,
    threadfence,
    threadfence_block,
    threadfence_system,
    threadIdx,
)

with hidet.script_module() as module:

    @hidet.script
    def barriers(x: f32[64]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 64
        tile = shared_tensor("float32", [64])
        tile[threadIdx.x] = x[threadIdx.x]
        # IR:     cuda.sync_threads
        # SOURCE: hidet::sync_threads();
        syncthreads()
        x[threadIdx.x] = tile[63 - threadIdx.x]
        # IR:     cuda.sync_warp
        # SOURCE: hidet::sync_warp();
        syncwarp()

    # Barriers with a vote, fences.

    # IR-LABEL:     cuda.kernel @votes
    # SOURCE-LABEL: votes(
    @hidet.script
    def votes(x: f32[64], n: i32[8]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 64
        value = x[threadIdx.x]
        # IR:     cuda.sync_vote and %{{.*}} : i1
        # SOURCE: hidet::sync_threads_and(value > 0.0f)
        if syncthreads_and(value > 0):
            # IR:     cuda.fence_gpu
            # SOURCE: hidet::fence_gpu();
            threadfence()
        # IR:     cuda.sync_vote or %{{.*}} : i1
        # SOURCE: hidet::sync_threads_or(value < 0.0f)
        n[1] = syncthreads_or(value < 0)
        # IR:     cuda.fence_cta
        # SOURCE: hidet::fence_cta();
        threadfence_block()
        # IR:     cuda.sync_vote count %{{.*}} : i32
        # SOURCE: hidet::sync_threads_count(value != 0.0f)
        n[2] = syncthreads_count(value)
        # IR:     cuda.fence_sys
        # SOURCE: hidet::fence_sys();
        threadfence_system()
        # IR:     cuda.nanosleep %{{.*}}
        # SOURCE: hidet::nanosleep(100);
        nano_sleep(100)
        # IR:     cuda.barrier_sync %{{.*}} count 64
        # SOURCE: hidet::barrier_sync<64>(1);
        bar_sync(64)
