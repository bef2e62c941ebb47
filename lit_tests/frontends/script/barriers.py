# RUN: hidet script %s --filecheck

"""Barriers of the block and of a warp."""

import hidet
from hidet.lang import attrs, f32, shared_tensor
from hidet.lang.cuda import syncthreads, syncwarp, threadIdx

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
