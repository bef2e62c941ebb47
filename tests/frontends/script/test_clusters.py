"""Clusters along all dimensions: who is where in them, and what their blocks do together."""

import math
import shutil

import pytest
import torch

import hidet
from hidet import option
from hidet.backend.toolchains import Nvcc
from hidet.errors import LegalityError
from hidet.lang import attrs, i32, meta, shared_tensor
from hidet.lang.cuda import (
    block_rank_in_cluster,
    blockIdx,
    cluster_sync,
    clusterDim,
    clusterIdx,
    clusterRelativeBlockIdx,
    fence_mbarrier_init,
    map_shared_rank,
    mbarrier_arrive,
    mbarrier_init,
    mbarrier_wait,
    threadIdx,
)


def ring(shape):
    """Build a kernel whose blocks report their ids, and arrive at a barrier of the next one."""
    grid, blocks = tuple(2 * n for n in shape), math.prod(shape)
    with hidet.script_module() as module:

        @hidet.script
        def ring(out: i32[math.prod(grid), 9]):
            attrs.cuda.grid_dim = grid
            attrs.cuda.block_dim = 32
            attrs.cuda.cluster_dim = shape
            told = shared_tensor("int64", [1])
            rank = block_rank_in_cluster()
            if threadIdx.x == 0:
                mbarrier_init(told, 1)
                fence_mbarrier_init()
            cluster_sync()
            if threadIdx.x == 0:
                mbarrier_arrive(told, (rank + 1) % blocks)
            mbarrier_wait(told, 0)
            place = clusterRelativeBlockIdx
            ids = [place.x, place.y, place.z, clusterIdx.x, clusterIdx.y, clusterIdx.z]
            number = (blockIdx.z * grid[1] + blockIdx.y) * grid[0] + blockIdx.x
            if threadIdx.x == 0:
                for k in meta.range(6):
                    out[number, k] = ids[k]
                out[number, 6] = rank
                out[number, 7] = clusterDim.y
                out[number, 8] = clusterDim.z
            cluster_sync()

    return module.build(), grid


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("shape", [(2, 2, 1), (1, 2, 3), (2, 1, 2)])
def test_ring(shape, strict):
    """Numbers count along x first; barriers of other blocks are found across y and z."""
    with option.context(strict=strict):
        built, grid = ring(shape)
    out = torch.full((math.prod(grid), 9), 77, dtype=torch.int32)
    built(out)
    for number, row in enumerate(out.tolist()):
        at = number % grid[0], number // grid[0] % grid[1], number // grid[0] // grid[1]
        place = [a % n for a, n in zip(at, shape, strict=True)]
        cluster = [a // n for a, n in zip(at, shape, strict=True)]
        rank = (place[2] * shape[1] + place[1]) * shape[0] + place[0]
        assert row == [*place, *cluster, rank, *shape[1:]]


def gather(blocks):
    """Build a kernel whose blocks read what all blocks of their cluster have stored.

    Half of the threads leave before the others meet.
    """
    with hidet.script_module() as module:

        @hidet.script
        def gather(out: i32[2 * blocks, blocks, 32]):
            attrs.cuda.grid_dim = 2 * blocks
            attrs.cuda.block_dim = 64
            attrs.cuda.cluster_dim = blocks
            own = shared_tensor("int32", [2, 32])
            if threadIdx.x < 32:
                own[1, threadIdx.x] = 100 * blockIdx.x + threadIdx.x
                cluster_sync()
                for rank in range(blocks):
                    peer = map_shared_rank(own, rank)
                    out[blockIdx.x, rank, threadIdx.x] = peer[1, threadIdx.x]
                cluster_sync()

    return module


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("blocks", [2, 4])
def test_memory_of_other_blocks(blocks, strict):
    with option.context(strict=strict):
        built = gather(blocks).build()
    out = torch.full((2 * blocks, blocks, 32), -1, dtype=torch.int32)
    built(out)
    owner = torch.arange(2 * blocks)[:, None] // blocks * blocks + torch.arange(blocks)
    assert torch.equal(out, 100 * owner[..., None] + torch.arange(32))


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_nvcc_takes_the_source(tmp_path):
    """The source is CUDA C++, and states the shape of the cluster."""
    source = ring((2, 1, 3))[0].source()
    assert "__cluster_dims__(2, 1, 3)" in source
    Nvcc("sm_90a").compile(source, tmp_path / "ring.cubin")


def test_clusters_that_the_cpu_has_not():
    """A block that is no whole warp is one for GPUs only, and said to be so."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: i32[4]):
            attrs.cuda.grid_dim = 2
            attrs.cuda.cluster_dim = 2
            attrs.cuda.block_dim = 1
            x[blockIdx.x] = 1

    with pytest.raises(LegalityError, match="clusters of 2 blocks with 1 threads on the CPU"):
        module.build()(torch.zeros(4, dtype=torch.int32))
