"""An f16 matmul on tensor cores: cp.async, swizzled shared memory, mma.sync fragments.

A block of 4 warps, 2 x 2, computes a tile of 128 x 128 of the product, 32 steps of k at a time.
While the warps multiply the tiles of one stage, those of the next two are on their way to shared
memory. A warp holds 64 x 64 elements of the product, as 4 x 8 fragments of the instruction.
"""

import torch

import hidet
from hidet.lang import (
    attrs,
    auto_map,
    cdiv,
    col_spatial,
    f16,
    grid,
    register_tensor,
    repeat,
    row_major,
    shared_tensor,
    spatial,
)
from hidet.lang.cuda import (
    MmaConfig,
    blockIdx,
    cp_async,
    cp_async_commit_group,
    cp_async_wait_group,
    ldmatrix,
    mma_sync,
    syncthreads,
    threadIdx,
)

MMA = MmaConfig.m16n8k16_f16_f32()
STAGES = 3
BLOCK_M, BLOCK_N, BLOCK_K = 128, 128, 32
WARPS_M, WARPS_N = 2, 2
WARP_M, WARP_N = BLOCK_M // WARPS_M, BLOCK_N // WARPS_N
MMAS_M, MMAS_N = WARP_M // MMA.m, WARP_N // MMA.n
THREADS = 32 * WARPS_M * WARPS_N

# A copy moves a segment of 8 elements, 16 bytes. Segments trade places within their rows, so that
# the rows which ldmatrix reads together lie in different banks.
TILE_A = row_major(BLOCK_M, BLOCK_K // 8).swizzle(1, log_step=1) * row_major(1, 8)
TILE_B = row_major(BLOCK_K, BLOCK_N // 8).swizzle(1) * row_major(1, 8)
# Which thread holds which elements of the product: warps, fragments of a warp, lanes.
TILE_C = spatial(WARPS_M, WARPS_N) * repeat(MMAS_M, MMAS_N) * MMA.c_store_map
# ldmatrix takes the addresses of rows of 8 elements: 16 rows of the left half, 16 of the right one.
ROWS = col_spatial(16, 2)


@hidet.script
def copy_a(k0, stage, a, smem_a):
    """Start copying a tile of a: 4 segments per thread."""
    for i, segment in auto_map(BLOCK_M, BLOCK_K // 8, workers=THREADS).on(threadIdx.x):
        row, k = blockIdx.x * BLOCK_M + i, k0 * BLOCK_K + segment * 8
        size = 16 if row < a.shape[0] and k < a.shape[1] else 0  # bytes; what is outside is zero
        cp_async(~smem_a[stage, i, segment * 8], ~a[row, k], 16, size, "global")


@hidet.script
def copy_b(k0, stage, b, smem_b):
    """Start copying a tile of b: 4 segments per thread."""
    for p, segment in auto_map(BLOCK_K, BLOCK_N // 8, workers=THREADS).on(threadIdx.x):
        k, column = k0 * BLOCK_K + p, blockIdx.y * BLOCK_N + segment * 8
        size = 16 if k < b.shape[0] and column < b.shape[1] else 0
        cp_async(~smem_b[stage, p, segment * 8], ~b[k, column], 16, size, "global")


@hidet.script
def multiply(stage, smem_a, smem_b, regs_a, regs_b, regs_c):
    """Multiply two shared tiles and accumulate into the warp's fragments."""
    for warp_m, warp_n in spatial(WARPS_M, WARPS_N).on(threadIdx.x // 32):
        row, column = warp_m * WARP_M, warp_n * WARP_N
        for k in grid(BLOCK_K // MMA.k, attrs="u"):
            for p, q in ROWS.on(threadIdx.x % 32):
                for i in grid(MMAS_M, attrs="u"):
                    left = ~smem_a[stage, row + i * MMA.m + p, k * MMA.k + q * 8]
                    ldmatrix(~regs_a[i, 0], left)
                for j in grid(MMAS_N // 2, attrs="u"):
                    right = ~smem_b[stage, k * MMA.k + p, column + j * 2 * MMA.n + q * 8]
                    ldmatrix(~regs_b[j, 0], right, trans=True)
            for i, j in grid(MMAS_M, MMAS_N, attrs="uu"):
                b = ~regs_b[j // 2, j % 2 * MMA.b_elements]
                c = ~regs_c[row + i * MMA.m, column + j * MMA.n]
                mma_sync(MMA, ~regs_a[i, 0], b, c)


def build(m_size, n_size, k_size):
    """Build the kernel for matrices of m_size x k_size and k_size x n_size."""
    if n_size % 8 != 0 or k_size % 8 != 0:
        raise ValueError("rows of the matrices are multiples of 8 elements, for copies of 16 bytes")

    with hidet.script_module() as module:

        @hidet.script
        def matmul(a: f16[m_size, k_size], b: f16[k_size, n_size], c: f16[m_size, n_size]):
            attrs.cuda.grid_dim = cdiv(m_size, BLOCK_M), cdiv(n_size, BLOCK_N)
            attrs.cuda.block_dim = THREADS

            smem_a = shared_tensor("float16", layout=row_major(STAGES) + TILE_A)
            smem_b = shared_tensor("float16", layout=row_major(STAGES) + TILE_B)
            regs_a = register_tensor("float16", [MMAS_M, MMA.a_elements])
            regs_b = register_tensor("float16", [MMAS_N // 2, 2 * MMA.b_elements])
            regs_c = register_tensor("float32", layout=TILE_C)

            for i, j in TILE_C.on(threadIdx.x):
                regs_c[i, j] = 0.0
            for stage in range(STAGES - 1):
                copy_a(stage, stage, a, smem_a)
                copy_b(stage, stage, b, smem_b)
                cp_async_commit_group()
            for k0 in range(cdiv(k_size, BLOCK_K)):
                cp_async_wait_group(STAGES - 2)  # the tiles of k0 are there, for this thread
                syncthreads()  # for all threads; and none multiplies those of k0 - 1 any more
                ahead = k0 + STAGES - 1
                copy_a(ahead, ahead % STAGES, a, smem_a)
                copy_b(ahead, ahead % STAGES, b, smem_b)
                cp_async_commit_group()
                multiply(k0 % STAGES, smem_a, smem_b, regs_a, regs_b, regs_c)
            for i, j in TILE_C.on(threadIdx.x):
                row, column = blockIdx.x * BLOCK_M + i, blockIdx.y * BLOCK_N + j
                if row < m_size and column < n_size:
                    c[row, column] = regs_c[i, j]

    return module.build()


if __name__ == "__main__":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    a = torch.randn(150, 72, device=device).half()
    b = torch.randn(72, 200, device=device).half()
    c = torch.empty(150, 200, device=device).half()
    print(MMA.c_store_map.draw())
    matmul = build(150, 200, 72)
    print(matmul.source())
    matmul(a, b, c)
    torch.testing.assert_close(c, (a.float() @ b.float()).half(), rtol=1e-2, atol=1e-2)
    print("matmul_tensor_core: all elements are right")
