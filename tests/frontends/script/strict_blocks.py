"""Scripts with a planted bug each, and without it: verbs, groups, clusters, vectors, parts."""

import torch

import hidet
from hidet.lang import attrs, auto_map, f32, f32x4, register_tensor, repeat, shared_tensor, spatial
from hidet.lang.cuda import (
    block_rank_in_cluster,
    blockIdx,
    cluster_arrive,
    cluster_sync,
    cluster_wait,
    fence_mbarrier_init,
    load,
    mbarrier_arrive,
    mbarrier_init,
    mbarrier_wait,
    store,
    syncthreads,
    threadIdx,
)
from hidet.lang.task import copy, group, matmul, window


def groups_that_do_not_wait(bug):
    """What one group writes another one reads, which no barrier of a group orders."""

    @hidet.script
    def kernel(x: f32[128], y: f32[128]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 256
        tile = shared_tensor("float32", [128])
        for worker in group(0, 128):
            copy(x, tile, spatial(128).on(worker))
        if not bug:
            syncthreads()
        for worker in group(128, 128):
            y[worker] = tile[127 - worker]


def vector_store_outside(bug):
    """The last thread stores one element too many."""

    @hidet.script
    def kernel(x: f32[128], y: f32[128]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        i = threadIdx.x * 4
        v = load(~x[i], dtype=f32x4)
        first = 124 - i + (4 if bug else 0)
        store(~y[first], f32x4(v.w, v.z, v.y, v.x))


def vector_of_shared_memory_outside(bug):
    """The same in shared memory."""

    @hidet.script
    def kernel(x: f32[128], y: f32[128]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        tile = shared_tensor("float32", [2, 64])
        i = threadIdx.x * 4
        row, column = i // 64, i % 64
        v = load(~x[i], dtype=f32x4)
        store(~tile[1 - row, 60 - column + (4 if bug else 0)], f32x4(v.w, v.z, v.y, v.x))
        syncthreads()
        for j in range(4):
            y[i + j] = tile[row, column + j]


def vectors_without_a_barrier(bug):
    """A vector is read that another thread has written."""

    @hidet.script
    def kernel(x: f32[128], y: f32[128]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        tile = shared_tensor("float32", [128])
        i = threadIdx.x * 4
        store(~tile[i], load(~x[i], dtype=f32x4))
        if not bug:
            syncthreads()
        v = load(~tile[124 - i], dtype=f32x4)
        store(~y[i], f32x4(v.w, v.z, v.y, v.x))


def element_outside_of_a_part(bug):
    """An index is outside of the part of a tensor, and still within the tensor."""

    @hidet.script
    def kernel(x: f32[4, 32], y: f32[4, 32]):
        attrs.cuda.grid_dim = 4
        attrs.cuda.block_dim = 32
        row = x[blockIdx.x]
        if bug and blockIdx.x < 2:
            y[blockIdx.x, threadIdx.x] = row[63 - threadIdx.x]
        else:
            y[blockIdx.x, threadIdx.x] = row[31 - threadIdx.x]


def missing_cluster_sync(bug):
    """A block arrives at the barrier of another one that may not have made it yet."""

    @hidet.script
    def kernel(x: f32[2, 64], y: f32[2, 64]):
        attrs.cuda.grid_dim = 2
        attrs.cuda.block_dim = 64
        attrs.cuda.cluster_dim = 2
        ready = shared_tensor("uint64", [1])
        if threadIdx.x == 0:
            mbarrier_init(ready, 2)
            fence_mbarrier_init()
        if bug:
            syncthreads()
        else:
            cluster_sync()
        if threadIdx.x < 2:
            mbarrier_arrive(ready, threadIdx.x)
        mbarrier_wait(ready, 0)
        y[block_rank_in_cluster(), threadIdx.x] = x[blockIdx.x, 63 - threadIdx.x]
        cluster_sync()


def write_after_the_arrival(bug):
    """What a thread does between its arrival and its wait comes before nothing of the others."""

    @hidet.script
    def kernel(x: f32[2, 64], y: f32[2, 64]):
        attrs.cuda.grid_dim = 2
        attrs.cuda.block_dim = 64
        attrs.cuda.cluster_dim = 2
        tile = shared_tensor("float32", [64])
        is_late = bug and threadIdx.x == 5
        if not is_late:
            tile[threadIdx.x] = x[blockIdx.x, threadIdx.x]
        cluster_arrive()
        if is_late:
            tile[threadIdx.x] = x[blockIdx.x, threadIdx.x]
        cluster_wait()
        y[blockIdx.x, threadIdx.x] = tile[63 - threadIdx.x]


def product_of_tiles(_bug):
    """Copies and a matmul; the bug is that no barriers are inserted."""

    @hidet.script
    def kernel(a: f32[32, 24], b: f32[24, 32], c: f32[32, 32]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 64
        smem_a = shared_tensor("float32", [32, 8])
        smem_b = shared_tensor("float32", [8, 32])
        acc = register_tensor("float32", layout=spatial(8, 8) * repeat(4, 4))
        t = threadIdx.x
        for i, j in acc.on(t):
            acc[i, j] = 0.0
        for k0 in range(0, 24, 8):
            copy(window(a, 0, k0), smem_a, auto_map(32, 8, workers=64).on(t))
            copy(window(b, k0, 0), smem_b, auto_map(8, 32, workers=64).on(t))
            matmul(smem_a, smem_b, acc, t)
        copy(acc, c, t)


def tile_of_a_group(_bug):
    """The workers of a group read what others of it have copied; the bug is as above."""

    @hidet.script
    def kernel(x: f32[128], y: f32[128]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 256
        tile = shared_tensor("float32", [128])
        for worker in group(128, 128):
            copy(x, tile, spatial(128).on(worker))
            y[worker] = tile[127 - worker]


def flip(x):
    return x.double().flip(-1)


VECTOR = ((torch.float32, 128),)
ROWS = ((torch.float32, 4, 32),)
CLUSTER = ((torch.float32, 2, 64),)
RACE = r"a race: thread \(\d+, 0, 0\) (reads|writes) {0}\[.*\] in .*, and thread"
EARLY = r"({0}\[.*\] in .*, which nothing has written so far|" + RACE + ")"
OUTSIDE = r"accesses {0}\[.*\] in .*: index -?\d+ of dimension {1} is outside of its extent {2}"

SCRIPTS = {
    groups_that_do_not_wait: (VECTOR, flip, EARLY.format("tile")),
    vector_store_outside: (VECTOR, flip, OUTSIDE.format("y", 0, 128)),
    vector_of_shared_memory_outside: (VECTOR, flip, OUTSIDE.format("tile", 1, 64)),
    vectors_without_a_barrier: (VECTOR, flip, EARLY.format("tile")),
    element_outside_of_a_part: (ROWS, flip, OUTSIDE.format("x", 1, 32)),
    missing_cluster_sync: (CLUSTER, flip, EARLY.format("ready")),
    write_after_the_arrival: (CLUSTER, flip, EARLY.format("tile")),
}
"""The inputs, the expected output and the error of each script."""

VERBS = {
    product_of_tiles: (
        ((torch.float32, 32, 24), (torch.float32, 24, 32)),
        lambda a, b: a.double() @ b.double(),
        EARLY.format("smem_[ab]"),
    ),
    tile_of_a_group: (VECTOR, flip, EARLY.format("tile")),
}
"""The same of scripts with verbs, whose bug is that the pass `insert-barriers` is left out."""
