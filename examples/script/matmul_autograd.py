"""A naive matmul, one thread per element, in a `torch.autograd.Function`."""

from functools import cache

import torch

import hidet
from hidet.lang import attrs, cdiv, f32
from hidet.lang.cuda import blockDim, blockIdx, threadIdx


@cache
def build(m, n, k):
    """Build the kernel for matrices of m x k and k x n."""
    with hidet.script_module() as module:

        @hidet.script
        def matmul(a: f32[m, k], b: f32[k, n], c: f32[m, n]):
            attrs.cuda.grid_dim = cdiv(n, 16), cdiv(m, 16)
            attrs.cuda.block_dim = 16, 16
            i = blockIdx.y * blockDim.y + threadIdx.y
            j = blockIdx.x * blockDim.x + threadIdx.x
            if i < m and j < n:
                total = 0.0
                for p in range(k):
                    total += a[i, p] * b[p, j]
                c[i, j] = total

    return module.build()


def product(a, b):
    """Multiply two matrices."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty(m, n, device=a.device)
    build(m, n, k)(a.contiguous(), b.contiguous(), c)
    return c


class Matmul(torch.autograd.Function):
    """A differentiable matmul; its gradients are matmuls too."""

    @staticmethod
    def forward(ctx, a, b):
        """Multiply."""
        ctx.save_for_backward(a, b)
        return product(a, b)

    @staticmethod
    def backward(ctx, grad):
        """Multiply by the other operand."""
        a, b = ctx.saved_tensors
        return product(grad, b.T), product(a.T, grad)


if __name__ == "__main__":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    a = torch.randn(30, 40, device=device, requires_grad=True)
    b = torch.randn(40, 50, device=device, requires_grad=True)
    torch.testing.assert_close(Matmul.apply(a, b), a @ b)
    Matmul.apply(a, b).square().sum().backward()
    print("matmul: product and gradients are there")
