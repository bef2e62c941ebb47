"""Slices of tensors, and a matmul in the style of the original's templates."""

import pytest
import torch

import hidet
from hidet import option
from hidet.lang import (
    attrs,
    auto_map,
    cdiv,
    col_spatial,
    f16,
    f32,
    grid,
    register_tensor,
    row_major,
    shared_tensor,
    spatial,
    u32,
    view,
)
from hidet.lang.cuda import (
    MmaConfig,
    blockIdx,
    cp_async,
    cp_async_wait_all,
    ldmatrix,
    mma_sync,
    syncthreads,
    threadIdx,
)
from hidet.lang.types import tensor_type
from hidet.testing.numeric import assert_close, poison


@pytest.fixture(autouse=True)
def _verified():
    """Check the legality of every kernel between the stages."""
    with option.context(verify_level=True):
        yield


def test_parts():
    """A part of a tensor, of registers, and of what a pointer points to, as parameters."""
    with hidet.script_module() as module:

        @hidet.script
        def double(row: f32[4]):
            for i in range(4):
                row[i] = row[i] * 2

        @hidet.script
        def transpose(t: f32[2, 4], out: f32[4, 2]):
            for i, j in grid(2, 4):
                out[j, i] = t[i, j]

        @hidet.script
        def kernel(x: f32[3, 4], p: ~f32, y: f32[2, 4, 2]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 1
            regs = register_tensor("float32", [2, 2, 4])
            for i, j in grid(2, 4):
                regs[1, i, j] = x[i + 1, j]
            for i in range(2):
                double(~regs[1, i, 0])
            transpose(~regs[1, 0, 0], ~y[0, 0, 0])
            transpose(p + 3, ~y[1, 0, 0])

    x, p, y = torch.rand(3, 4), torch.rand(20), poison(torch.empty(2, 4, 2))
    module.build()(x, p, y)
    assert_close(y[0], x[1:].double().T * 2, 0)
    assert_close(y[1], p[3:11].double().view(2, 4).T, 0)


def build(m_size, n_size, k_size):  # noqa: C901
    """Build a matmul with two stages, like the original's template for f16."""
    block_m, block_n, block_k, warp_m, warp_n = 64, 64, 16, 32, 32
    mma = MmaConfig.m16n8k16_f16_f32()
    threads = 128
    count_m, count_n = warp_m // mma.m, warp_n // mma.n
    smem_a_type = tensor_type(
        "float16",
        shape=[block_m, block_k],
        layout=row_major(block_m, block_k // 8).swizzle(1) * row_major(1, 8),
    )
    smem_b_type = tensor_type(
        "float16",
        shape=[block_k, block_n],
        layout=row_major(block_k // 8, block_n // 64)
        * row_major(8, 8).swizzle(1)
        * row_major(1, 8),
    )

    with hidet.script_module() as module:

        @hidet.script
        def load_regs_a(mi: int, smem_a: smem_a_type, regs_a: f16[mma.a_elements]):
            warp_id, lane_id = threadIdx.x / 32, threadIdx.x % 32
            for wi, _wj in spatial(2, 2).on(warp_id):
                p, q = col_spatial(16, 2).map(lane_id)
                row_addr = ~smem_a[wi * warp_m + mi * mma.m + p, q * 8]
                b32_regs = view(regs_a, u32[4])
                ldmatrix(
                    regs=[b32_regs[0], b32_regs[1], b32_regs[2], b32_regs[3]],
                    smem_addr=row_addr,
                    shared_space_addr=False,
                    trans=False,
                )

        @hidet.script
        def load_regs_b(mj: int, smem_b: smem_b_type, regs_b: f16[mma.b_elements]):
            warp_id, lane_id = threadIdx.x / 32, threadIdx.x % 32
            for _wi, wj in spatial(2, 2).on(warp_id):
                p, _q = col_spatial(16, 2).map(lane_id)
                row_addr = ~smem_b[p, wj * warp_n + mj * mma.n]
                regs = view(regs_b, u32[2])
                ldmatrix(regs=[regs[0], regs[1]], smem_addr=row_addr, trans=True)

        @hidet.script
        def warp_mma(
            regs_a: f16[mma.a_elements], regs_b: f16[mma.b_elements], regs_c: f32[mma.c_elements]
        ):
            mma_sync(mma, regs_a, regs_b, regs_c)

        @hidet.script
        def load_smem_a(k0: int, a: f16[m_size, k_size], smem_a: smem_a_type):
            for i, k_seg in auto_map(block_m, block_k // 8, workers=threads).on(threadIdx.x):
                row, k = blockIdx.x * block_m + i, k0 * block_k + k_seg * 8
                src_size = 0 if (row >= m_size or k >= k_size) else min(k_size - k, 8)
                cp_async(
                    ~smem_a[i, k_seg * 8],
                    ~a[row, k],
                    cp_size=16,
                    src_size=src_size * 2,
                    cache_level="global",
                )

        @hidet.script
        def load_smem_b(k0: int, b: f16[k_size, n_size], smem_b: smem_b_type):
            for k, j_seg in auto_map(block_k, block_n // 8, workers=threads).on(threadIdx.x):
                row, j = k0 * block_k + k, blockIdx.y * block_n + j_seg * 8
                src_size = 0 if (row >= k_size or j >= n_size) else min(n_size - j, 8)
                cp_async(~smem_b[k, j_seg * 8], ~b[row, j], cp_size=16, src_size=src_size * 2)

        @hidet.script
        def matmul(a: f16[m_size, k_size], b: f16[k_size, n_size], c: f16[m_size, n_size]):
            attrs.cuda.grid_dim = cdiv(m_size, block_m), cdiv(n_size, block_n)
            attrs.cuda.block_dim = threads
            smem_a = shared_tensor("float16", layout=row_major(2) + smem_a_type.layout)
            smem_b = shared_tensor("float16", layout=row_major(2) + smem_b_type.layout)
            regs_a = register_tensor(f16, [count_m, mma.a_elements])
            regs_b = register_tensor(f16, [count_n, mma.b_elements])
            regs_c = register_tensor(f32, [count_m, count_n, mma.c_elements])
            for i, j, p in grid(count_m, count_n, mma.c_elements):
                regs_c[i, j, p] = 0.0
            load_smem_a(0, a, ~smem_a[0, 0, 0])
            load_smem_b(0, b, ~smem_b[0, 0, 0])
            cp_async_wait_all()
            syncthreads()
            for k0 in range((k_size + block_k - 1) // block_k):
                load_smem_a(k0 + 1, a, ~smem_a[(k0 + 1) % 2, 0, 0])
                load_smem_b(k0 + 1, b, ~smem_b[(k0 + 1) % 2, 0, 0])
                for mi in range(count_m):
                    load_regs_a(mi, ~smem_a[k0 % 2, 0, 0], ~regs_a[mi, 0])
                for mj in range(count_n):
                    load_regs_b(mj, ~smem_b[k0 % 2, 0, 0], ~regs_b[mj, 0])
                for mi, mj in grid(count_m, count_n):
                    warp_mma(~regs_a[mi, 0], ~regs_b[mj, 0], ~regs_c[mi, mj, 0])
                cp_async_wait_all()
                syncthreads()
            warp_id, lane_id = threadIdx.x / 32, threadIdx.x % 32
            for wi, wj in spatial(2, 2).on(warp_id):
                for mi, mj in grid(count_m, count_n):
                    p = 0
                    for i, j in mma.c_store_map.on(lane_id):
                        row = blockIdx.x * block_m + wi * warp_m + mi * mma.m + i
                        column = blockIdx.y * block_n + wj * warp_n + mj * mma.n + j
                        if row < m_size and column < n_size:
                            c[row, column] = f16(regs_c[mi, mj, p])
                        p = p + 1

    return module.build()


@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 16), (70, 136, 72)])
def test_matmul_of_the_original(m, n, k):
    """Functions take parts of tensors by their addresses; `ldmatrix` takes registers of 32 bits."""
    a, b = torch.rand(m, k).half() - 0.5, torch.rand(k, n).half() - 0.5
    c = poison(torch.empty(m, n).half())
    build(m, n, k)(a, b, c)
    assert_close(c, a.double() @ b.double(), 1e-3)


def test_registers_of_32_bits():
    """Elements of an array of words are registers too, if they follow each other."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: u32[8, 4], y: u32[32, 2]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            smem = shared_tensor("uint32", [8, 4])
            regs = register_tensor("uint32", [2, 2])
            smem[threadIdx.x // 4, threadIdx.x % 4] = x[threadIdx.x // 4, threadIdx.x % 4]
            syncthreads()
            ldmatrix([regs[1, 1]], ~smem[threadIdx.x % 8, 0])
            ldmatrix([regs[0, 0], regs[0, 1]], ~smem[threadIdx.x % 8, 0])
            y[threadIdx.x, 0] = regs[1, 1]
            y[threadIdx.x, 1] = regs[0, 1]

    x = torch.arange(32, dtype=torch.int32).view(torch.uint32).view(8, 4)
    y = torch.zeros(32, 2, dtype=torch.uint32)
    module.build()(x, y)
    assert y[:, 0].tolist() == y[:, 1].tolist() == list(range(32))


@pytest.mark.parametrize("numbers", [(1, 0), (0, 2)])
def test_registers_that_do_not_follow_each_other(numbers):
    """They are refused."""

    def define():
        with hidet.script_module():

            @hidet.script
            def kernel(x: f32[8]):
                attrs.cuda.grid_dim = 1
                attrs.cuda.block_dim = 32
                smem = shared_tensor("uint32", [8, 4])
                regs = register_tensor("uint32", [4])
                ldmatrix([regs[numbers[0]], regs[numbers[1]]], ~smem[threadIdx.x % 8, 0])

    with pytest.raises(hidet.errors.ScriptError, match="not into the list"):
        define()
