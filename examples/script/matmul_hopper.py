"""An fp16 matmul for Hopper: TMA, mbarriers, wgmma, specialized warps.

c = a @ b.T, in tiles of 128 x 256 and steps of 64 along k. A block has three warp groups. In the
first, the producer, one thread issues the TMA loads of a and b; the other two, the consumers,
multiply 64 rows of a each. Shared memory holds a ring of stages, each with an mbarrier that signals
that it is full and one that it is empty.

Blocks are persistent: each processes output tiles until none is left. Consumers write a finished
tile to shared memory, from where TMA stores it while the producer already loads for the next tile.
"""

import torch

import hidet
from hidet.lang import attrs, f16, grid, register_tensor, shared_tensor
from hidet.lang.cuda import (
    barrier_sync,
    blockIdx,
    fence_mbarrier_init,
    fence_proxy_async,
    gridDim,
    matrix_descriptor,
    mbarrier_arrive,
    mbarrier_arrive_and_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    setmaxnreg,
    syncthreads,
    tensor_map,
    threadIdx,
    tma_commit_group,
    tma_load,
    tma_store,
    tma_wait_group,
    wgmma_accumulator,
    wgmma_async,
    wgmma_commit_group,
    wgmma_fence,
    wgmma_wait_group,
)

BLOCK_M, BLOCK_N, BLOCK_K = 128, 256, 64
STAGES = 3
STAGE_BYTES = (BLOCK_M + BLOCK_N) * BLOCK_K * 2
GROUP = 128  # threads of a warp group
CONSUMERS = BLOCK_M // 64
PRODUCT = "m64n256k16_f16_f32"
ACCUMULATOR = wgmma_accumulator(BLOCK_N)  # which thread of a warp group holds which element
MULTIPROCESSORS = 132  # of an H200


@hidet.script
def place_of(tile, tiles_m, tiles_n):
    """Return the first row and column of a tile: eight rows of tiles, column by column.

    So the tiles that blocks work on at a time share what they read, and it stays in the cache.
    """
    rows = 8 if tiles_m % 8 == 0 else 1
    band, rest = tile // (rows * tiles_n), tile % (rows * tiles_n)
    return (band * rows + rest % rows) * BLOCK_M, rest // rows * BLOCK_N


@hidet.script
def produce(a, b, smem_a, smem_b, full, empty, tiles):
    """Producer warp group: fetch the tiles of a and b for each output tile of this block."""
    tiles_m, tiles_n, tiles_k = tiles
    stage = 0
    parity = 1
    for tile in range(blockIdx.x, tiles_m * tiles_n, gridDim.x):
        row, column = place_of(tile, tiles_m, tiles_n)
        for k in range(tiles_k):
            mbarrier_wait(~empty[stage], parity)
            mbarrier_arrive_and_expect_tx(~full[stage], STAGE_BYTES)
            tma_load(~smem_a[stage, 0, 0], a, (row, k * BLOCK_K), ~full[stage])
            tma_load(~smem_b[stage, 0, 0], b, (column, k * BLOCK_K), ~full[stage])
            stage += 1
            if stage == STAGES:
                stage = 0
                parity ^= 1


@hidet.script
def store(c, smem_c, acc, row, column):
    """Store 64 rows of an output tile through shared memory, once its previous store is done."""
    consumer, thread = threadIdx.x // GROUP - 1, threadIdx.x % GROUP
    if thread == 0:
        tma_wait_group(0)
    barrier_sync(1 + consumer, GROUP)
    for i, j in ACCUMULATOR.on(thread):
        piece = j % 64 // 8 ^ i % 8  # where the swizzle has these 8 columns
        smem_c[consumer, j // 64, i, piece * 8 + j % 8] = acc[i, j]
    fence_proxy_async()
    barrier_sync(1 + consumer, GROUP)
    if thread == 0:
        for panel in range(BLOCK_N // 64):
            place = row + consumer * 64, column + panel * 64
            tma_store(c, place, ~smem_c[consumer, panel, 0, 0])
        tma_commit_group()


@hidet.script
def consume(c, smem_a, smem_b, smem_c, full, empty, tiles):
    """Consumer warp group: multiply 64 rows of each output tile, and store them."""
    tiles_m, tiles_n, tiles_k = tiles
    consumer, thread = threadIdx.x // GROUP - 1, threadIdx.x % GROUP
    stage = last = 0
    parity = 0
    for tile in range(blockIdx.x, tiles_m * tiles_n, gridDim.x):
        acc = register_tensor("float32", layout=ACCUMULATOR)
        for k in range(tiles_k):
            mbarrier_wait(~full[stage], parity)
            wgmma_fence()
            desc_a = matrix_descriptor(~smem_a[stage, consumer * 64, 0])
            desc_b = matrix_descriptor(~smem_b[stage, 0, 0])
            for step in grid(BLOCK_K // 16, attrs="u"):
                wgmma_async(PRODUCT, desc_a + 2 * step, acc, desc_b + 2 * step, k + step > 0)
            wgmma_commit_group()
            if k > 0:
                # These products are under way; those of the stage before have ended.
                wgmma_wait_group(1)
                if thread == 0:
                    mbarrier_arrive(~empty[last])
            last = stage
            stage += 1
            if stage == STAGES:
                stage = 0
                parity ^= 1
        wgmma_wait_group(0)
        if thread == 0:
            mbarrier_arrive(~empty[last])
        row, column = place_of(tile, tiles_m, tiles_n)
        store(c, smem_c, acc, row, column)
    if thread == 0:
        tma_wait_group(0)


def build(m_size, n_size, k_size, blocks=MULTIPROCESSORS):
    """Build the kernel for matrices of m_size x k_size and n_size x k_size.

    The sizes are multiples of 128, 256 and 64; no more than so many blocks run.
    """
    assert m_size % BLOCK_M == n_size % BLOCK_N == k_size % BLOCK_K == 0
    tiles = m_size // BLOCK_M, n_size // BLOCK_N, k_size // BLOCK_K

    with hidet.script_module() as module:

        @hidet.script
        def matmul(
            a: tensor_map(f16[m_size, k_size], box=(BLOCK_M, BLOCK_K), swizzle=128),
            b: tensor_map(f16[n_size, k_size], box=(BLOCK_N, BLOCK_K), swizzle=128),
            c: tensor_map(f16[m_size, n_size], box=(64, 64), swizzle=128),
        ):
            attrs.cuda.grid_dim = min(tiles[0] * tiles[1], blocks)
            attrs.cuda.block_dim = GROUP * (1 + CONSUMERS)
            attrs.cuda.min_blocks = 1
            smem_a = shared_tensor("float16", [STAGES, BLOCK_M, BLOCK_K])
            smem_b = shared_tensor("float16", [STAGES, BLOCK_N, BLOCK_K])
            smem_c = shared_tensor("float16", [CONSUMERS, BLOCK_N // 64, 64, 64])
            full = shared_tensor("uint64", [STAGES])
            empty = shared_tensor("uint64", [STAGES])
            if threadIdx.x == 0:
                for stage in range(STAGES):
                    mbarrier_init(~full[stage], 1)
                    mbarrier_init(~empty[stage], CONSUMERS)
                fence_mbarrier_init()
            syncthreads()
            if threadIdx.x // GROUP == 0:
                setmaxnreg(40, "dec")
                if threadIdx.x == 0:
                    produce(a, b, smem_a, smem_b, full, empty, tiles)
            else:
                setmaxnreg(232, "inc")
                consume(c, smem_a, smem_b, smem_c, full, empty, tiles)

    return module.build()


if __name__ == "__main__":
    size = 256
    device = "cuda" if torch.cuda.is_available() else "cpu"
    a, b = (torch.randn(size, size, device=device).half() for _ in range(2))
    c = torch.empty(size, size, device=device, dtype=torch.float16)
    matmul = build(size, size, size)
    print(matmul.source())
    matmul(a, b, c)
    torch.testing.assert_close(c, (a.float() @ b.float().T).half(), rtol=2e-3, atol=2e-2)
    print("matmul_hopper: all elements are right")
