# RUN: hidet script %s --filecheck

"""Ids and extents of the grid and the block."""

import hidet
from hidet.lang import attrs, f32
from hidet.lang.cuda import blockDim, blockIdx, gridDim, threadIdx

with hidet.script_module() as module:
    # An id is read once, at the top, wherever the script asks for it.

    # IR-LABEL:     cuda.kernel @ids
    # IR-DAG:       %{{.*}} = cuda.thread_id x
    # IR-DAG:       %{{.*}} = cuda.thread_id y
    # IR-DAG:       %{{.*}} = cuda.block_id x
    # IR-DAG:       %{{.*}} = cuda.block_id y
    # IR-DAG:       %{{.*}} = cuda.block_id z
    # SOURCE-LABEL: ids(
    # SOURCE-NEXT:  const int bx = blockIdx.x;
    # SOURCE-NEXT:  const int by = blockIdx.y;
    # SOURCE-NEXT:  const int bz = blockIdx.z;
    # SOURCE-NEXT:  const int tx = threadIdx.x;
    # SOURCE-NEXT:  const int ty = threadIdx.y;
    @hidet.script
    def ids(x: f32[4096], y: f32[16]):
        attrs.cuda.grid_dim = 2, 4, 8
        attrs.cuda.block_dim = 32, 2
        # IR:           memref.store %{{.*}}, %x
        # SOURCE-NEXT:  x[bx + tx] = 0.0f;
        x[threadIdx.x + blockIdx.x] = 0.0
        # The extents are numbers.
        # IR:           arith.constant 32 : index
        # IR:           memref.store %{{.*}}, %x
        # SOURCE-NEXT:  x[by * 32 + ty] = 1.0f;
        x[blockDim.x * blockIdx.y + threadIdx.y] = 1.0
        # IR:           arith.constant 8 : index
        # IR:           memref.store %{{.*}}, %y
        # SOURCE-NEXT:  y[bz + 8] = 2.0f;
        y[gridDim.z + blockIdx.z] = 2.0
