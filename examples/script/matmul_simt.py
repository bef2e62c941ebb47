"""An efficient f32 matmul with ReLU: shared memory, registers, task mappings.

A block of 256 threads, 8 warps in 4 x 2, computes a tile of 64 x 256 of the product. Each thread
holds 64 elements of it in registers: 2 x 2 pieces of 4 x 4. The layout of the register tile says
which; the same mapping says who multiplies what.
"""

import torch

import hidet
from hidet.lang import (
    as_tensor_pointer,
    attrs,
    auto_map,
    cdiv,
    f32,
    local_layout,
    register_tensor,
    row_major,
    shared_tensor,
    spatial,
)
from hidet.lang.cuda import blockIdx, syncthreads, threadIdx

THREADS = 256
BLOCK_M, BLOCK_N, BLOCK_K = 64, 256, 8


def build(m_size, n_size, k_size):
    """Build the kernel for matrices of m_size x k_size and k_size x n_size."""
    with hidet.script_module() as module:

        @hidet.script
        def relu(x: f32) -> f32:
            return x if x > 0.0 else 0.0

        @hidet.script
        def multiply(regs_c, smem_a, smem_b):
            mapping = spatial(4, 2).repeat(2, 2).spatial(2, 16).repeat(4, 4)
            for k in range(BLOCK_K):
                for i, j in mapping.on(threadIdx.x):
                    regs_c[i, j] += smem_a[i, k] * smem_b[k, j]

        @hidet.script
        def matmul_relu(a_ptr: ~f32, b_ptr: ~f32, c_ptr: ~f32):
            attrs.cuda.grid_dim = cdiv(m_size, BLOCK_M), cdiv(n_size, BLOCK_N)
            attrs.cuda.block_dim = THREADS

            a = as_tensor_pointer(a_ptr, "float32", [m_size, k_size])
            b = as_tensor_pointer(b_ptr, "float32", [k_size, n_size])
            c = as_tensor_pointer(c_ptr, "float32", [m_size, n_size])
            smem_a = shared_tensor("float32", [BLOCK_M, BLOCK_K])
            smem_b = shared_tensor("float32", [BLOCK_K, BLOCK_N])
            regs_c = register_tensor(
                "float32",
                [BLOCK_M, BLOCK_N],
                layout=local_layout(4, 2) * row_major(2, 2) * local_layout(2, 16) * row_major(4, 4),
            )
            mapping = spatial(4, 2).repeat(2, 2).spatial(2, 16).repeat(4, 4)
            offset_m = blockIdx.x * BLOCK_M
            offset_n = blockIdx.y * BLOCK_N

            for i, j in mapping.on(threadIdx.x):
                regs_c[i, j] = 0.0
            for k0 in range(cdiv(k_size, BLOCK_K)):
                offset_k = k0 * BLOCK_K
                for i, k in auto_map(BLOCK_M, BLOCK_K, workers=THREADS).on(threadIdx.x):
                    inside = offset_m + i < m_size and offset_k + k < k_size
                    smem_a[i, k] = a[offset_m + i, offset_k + k] if inside else 0.0
                for k, j in auto_map(BLOCK_K, BLOCK_N, workers=THREADS).on(threadIdx.x):
                    inside = offset_k + k < k_size and offset_n + j < n_size
                    smem_b[k, j] = b[offset_k + k, offset_n + j] if inside else 0.0
                syncthreads()
                multiply(regs_c, smem_a, smem_b)
                syncthreads()
            for i, j in mapping.on(threadIdx.x):
                if offset_m + i < m_size and offset_n + j < n_size:
                    c[offset_m + i, offset_n + j] = relu(regs_c[i, j])

    return module.build()


if __name__ == "__main__":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    a, b = torch.randn(150, 90, device=device), torch.randn(90, 300, device=device)
    c = torch.empty(150, 300, device=device)
    matmul_relu = build(150, 300, 90)
    print(matmul_relu.source())
    matmul_relu(a, b, c)
    torch.testing.assert_close(c, (a @ b).relu(), rtol=1e-4, atol=1e-4)
    print("matmul_simt: all elements are right")
