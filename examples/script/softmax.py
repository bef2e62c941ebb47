"""Softmax along rows: one warp per row, reductions by shuffles."""

import torch

import hidet
from hidet.lang import attrs, cdiv, f32, register_tensor, repeat, spatial
from hidet.lang.cuda import blockIdx, shfl_xor_sync, threadIdx
from hidet.lang.math import exp

WARPS = 4


def build(rows, columns):
    """Build the kernel for a matrix; `columns` is a multiple of 32."""
    mine = repeat(columns // 32) * spatial(32)

    with hidet.script_module() as module:

        @hidet.script
        def warp_reduce(value, combine):
            for mask in [16, 8, 4, 2, 1]:
                value = combine(value, shfl_xor_sync(0xFFFFFFFF, value, mask))
            return value

        @hidet.script
        def softmax(x: f32[rows, columns], y: f32[rows, columns]):
            attrs.cuda.grid_dim = cdiv(rows, WARPS)
            attrs.cuda.block_dim = 32 * WARPS
            lane = threadIdx.x % 32
            row = blockIdx.x * WARPS + threadIdx.x // 32
            if row < rows:
                values = register_tensor("float32", layout=mine)
                largest = -float("inf")
                for j in mine.on(lane):
                    values[j] = x[row, j]
                    largest = max(largest, values[j])
                largest = warp_reduce(largest, max)
                total = 0.0
                for j in mine.on(lane):
                    values[j] = exp(values[j] - largest)
                    total += values[j]
                total = warp_reduce(total, lambda a, b: a + b)
                for j in mine.on(lane):
                    y[row, j] = values[j] / total

    return module.build()


if __name__ == "__main__":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.randn(50, 256, device=device)
    y = torch.empty_like(x)
    softmax = build(50, 256)
    print(softmax.source())
    softmax(x, y)
    torch.testing.assert_close(y, x.softmax(1))
    print("softmax: all elements are right")
