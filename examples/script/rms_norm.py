"""RMS norm fused with its residual addition: one block per row."""

import torch

import hidet
from hidet.lang import attrs, auto_map, f16, f32, register_tensor, shared_tensor
from hidet.lang.cuda import blockIdx, shfl_down_sync, syncthreads, threadIdx
from hidet.lang.math import rsqrt

THREADS = 128


def build(rows, columns, epsilon=1e-6):
    """Build the kernel for matrices of f16; `columns` is a multiple of 128."""
    mine = auto_map(columns, workers=THREADS)

    with hidet.script_module() as module:

        @hidet.script
        def block_sum(value: f32) -> f32:
            partial = shared_tensor("float32", [THREADS // 32])
            for delta in [16, 8, 4, 2, 1]:
                value += shfl_down_sync(0xFFFFFFFF, value, delta)
            if threadIdx.x % 32 == 0:
                partial[threadIdx.x // 32] = value
            syncthreads()
            total = f32(0)
            for warp in range(THREADS // 32):
                total += partial[warp]
            return total

        @hidet.script
        def rms_norm(
            x: f16[rows, columns],
            residual: f16[rows, columns],
            weight: f16[columns],
            y: f16[rows, columns],
        ):
            attrs.cuda.grid_dim = rows
            attrs.cuda.block_dim = THREADS
            row = blockIdx.x
            values = register_tensor("float32", layout=mine)
            squares = f32(0)
            for j in mine.on(threadIdx.x):
                values[j] = f32(x[row, j]) + residual[row, j]
                squares += values[j] * values[j]
            scale = rsqrt(block_sum(squares) / columns + epsilon)
            for j in mine.on(threadIdx.x):
                y[row, j] = values[j] * scale * weight[j]

    return module.build()


if __name__ == "__main__":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x, residual = (torch.randn(20, 512, device=device).half() for _ in range(2))
    weight = torch.rand(512, device=device).half()
    y = torch.empty_like(x)
    rms_norm = build(20, 512)
    print(rms_norm.source())
    rms_norm(x, residual, weight, y)
    total = x.double() + residual.double()
    wanted = total * (total.square().mean(1, keepdim=True) + 1e-6).rsqrt() * weight.double()
    torch.testing.assert_close(y.double(), wanted, rtol=2e-3, atol=2e-3)
    print("rms_norm: all elements are right")
