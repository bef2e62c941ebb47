"""Vector addition: one thread per element."""

import torch

import hidet
from hidet.lang import attrs, cdiv, f32
from hidet.lang.cuda import blockDim, blockIdx, threadIdx


def build(size):
    """Build the kernel for vectors of a size."""
    with hidet.script_module() as module:

        @hidet.script
        def vector_add(a: f32[size], b: f32[size], c: f32[size]):
            attrs.cuda.grid_dim = cdiv(size, 256)
            attrs.cuda.block_dim = 256
            i = blockIdx.x * blockDim.x + threadIdx.x
            if i < size:
                c[i] = a[i] + b[i]

    return module.build()


if __name__ == "__main__":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    a, b = torch.randn(1000, device=device), torch.randn(1000, device=device)
    c = torch.empty(1000, device=device)
    build(1000)(a, b, c)
    torch.testing.assert_close(c, a + b)
    print("vector_add: all elements are right")
