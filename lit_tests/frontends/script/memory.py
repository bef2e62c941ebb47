# RUN: hidet script %s --filecheck

"""Tensors in registers and in shared memory, pointers, layouts."""

import hidet
from hidet.lang import (
    as_tensor_pointer,
    attrs,
    column_major,
    f32,
    i32,
    local_layout,
    register_tensor,
    row_major,
    shared_tensor,
    tensor_pointer,
)
from hidet.lang.cuda import dynamic_shared_memory, syncthreads, threadIdx
from hidet.lang.layout import strided_layout

with hidet.script_module() as module:
    # TASK: #m0 = #task.map<spatial(32) * repeat(2)>

    # IR-LABEL:     cuda.kernel @memory
    # SOURCE-LABEL: memory(
    @hidet.script
    def memory(x: f32[64]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        i = threadIdx.x
        # IR:     %tile = memref.alloca() : memref<8x8xf32, #cuda.space<shared>>
        # SOURCE: __shared__ float tile[8][8];
        tile = shared_tensor("float32", [8, 8])
        # TASK:   %spread = memref.alloca() : memref<64xf32, #m0, #cuda.space<register>>
        # CUDA:   %spread = memref.alloca() : memref<2xf32, #cuda.space<local>>
        # FINAL:  %spread = memref.alloca() : memref<2xf32, #cuda.space<local>>
        # SOURCE: float spread[2];
        spread = register_tensor("float32", layout=local_layout(32) * row_major(2))
        # IR:     %own = memref.alloca() : memref<4xf32, #cuda.space<local>>
        # SOURCE: float own[4];
        own = register_tensor("float32", [4])
        for k in (local_layout(32) * row_major(2)).on(i):
            # IR:     memref.store %{{.*}}, %spread
            # SOURCE: spread[
            spread[k] = x[k]
        for k in range(4):
            own[k] = x[k * i]
        # IR:     memref.store %{{.*}}, %tile
        # SOURCE: tile[i / 8][i % 8] = own[0] + spread[0];
        tile[i // 8, i % 8] = own[0] + spread[2 * i]
        syncthreads()
        # IR:     memref.load %tile
        # SOURCE: x[i] = tile[7][7 - i];
        x[i] = tile[7, 7 - i]

    # Dynamic shared memory: that of the script, then tensors beyond the static limit.

    # IR-LABEL:     cuda.kernel @placed
    # TASK:         shared_bytes = 256 : i64
    # FINAL:        shared_bytes = 65792 : i64
    # SOURCE-LABEL: placed(
    @hidet.script
    def placed(x: f32[64]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 64
        attrs.cuda.dynamic_smem_bytes = 256
        # IR:     %tail = cuda.dynamic_shared offset 128 : memref<32xf32, #cuda.space<shared>>
        # SOURCE: auto& tail = hidet::dynamic_shared<float[32]>(128);
        tail = dynamic_shared_memory(128, "f32")
        # TASK:   %large = memref.alloca() : memref<256x64xf32, #cuda.space<shared>>
        # CUDA:   %large = memref.alloca() : memref<256x64xf32, #cuda.space<shared>>
        # FINAL:  %large = cuda.dynamic_shared offset 256 : memref<256x64xf32, #cuda.space<shared>>
        # SOURCE: auto& large = hidet::dynamic_shared<float[256][64]>(256);
        large = shared_tensor("float32", [256, 64])
        # IR:     memref.store %{{.*}}, %large
        # SOURCE: large[3][tid] = x[tid];
        large[3, threadIdx.x] = x[threadIdx.x]
        syncthreads()
        # IR:     memref.store %{{.*}}, %tail
        # SOURCE: tail[tid / 2] = large[3][63 - tid];
        tail[threadIdx.x // 2] = large[3, 63 - threadIdx.x]

    # IR-LABEL:     cuda.kernel @layouts
    # SOURCE-LABEL: layouts(
    @hidet.script
    def layouts(x: f32[8, 4], p: ~f32, n: i32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        i = threadIdx.x
        # IR:     %columns = memref.alloca() : memref<4x8xf32, #cuda.space<shared>>
        # SOURCE: __shared__ float columns[4][8];
        columns = shared_tensor("float32", layout=column_major(8, 4))
        # IR:     %ranked = memref.alloca() : memref<4x8xf32, #cuda.space<shared>>
        # SOURCE: __shared__ float ranked[4][8];
        ranked = shared_tensor("float32", layout=strided_layout([8, 4], ranks=[1, 0]))
        # IR:     memref.store %{{.*}}, %columns
        # SOURCE: columns[{{.*}}][i] = x[
        columns[i, n] = x[i, n]
        # IR:     memref.store %{{.*}}, %ranked
        # SOURCE: ranked[{{.*}}][i] = x[
        ranked[i, n] = x[i, n + 1]
        syncthreads()
        # IR:     memref.load %p
        # SOURCE: x[i * 4] = p[v + 8LL] +
        x[i, 0] = as_tensor_pointer(p + 8, "float32", [4, n])[0, n] + columns[n, i]
        # IR:     memref.load %p
        # SOURCE: x[i * 4 + 1] = p[v + 16LL] +
        x[i, 1] = tensor_pointer("float32", [4, 8], init=p)[2, n] + ranked[n, i]
        # IR:     memref.store %{{.*}}, %p
        # SOURCE: p[9] = 4.0f;
        (p + 9)[0] = 4.0
        # IR:     memref.store %{{.*}}, %x
        # SOURCE: x[i * 4 + 2] = 8.0f;
        x[i, 2] = len(columns)
