"""A custom operator in a compiled model: silu(x) * gate, with gradients."""

import math

import torch
from torch import nn
from torch.nn import functional as F

import hidet
from hidet.lang import attrs, cdiv, f32, i32
from hidet.lang.cuda import blockIdx, threadIdx

with hidet.script_module() as script_module:

    @hidet.script
    def gated_silu_forward(x: ~f32, gate: ~f32, y: ~f32, n: i32):
        """Compute y = silu(x) * gate."""
        attrs.cuda.grid_dim = cdiv(n, 256)
        attrs.cuda.block_dim = 256
        i = blockIdx.x * 256 + threadIdx.x
        if i < n:
            y[i] = x[i] / (1.0 + math.exp(-x[i])) * gate[i]

    @hidet.script
    def gated_silu_backward(x: ~f32, gate: ~f32, dy: ~f32, dx: ~f32, dgate: ~f32, n: i32):
        """Compute the gradients of x and gate from that of y."""
        attrs.cuda.grid_dim = cdiv(n, 256)
        attrs.cuda.block_dim = 256
        i = blockIdx.x * 256 + threadIdx.x
        if i < n:
            s = 1.0 / (1.0 + math.exp(-x[i]))
            dx[i] = dy[i] * gate[i] * s * (1.0 + x[i] * (1.0 - s))
            dgate[i] = dy[i] * x[i] * s


kernels = script_module.build()


def save(ctx, inputs, output):
    """Save the inputs for the backward pass."""
    ctx.save_for_backward(*inputs)


def backward(ctx, dy):
    """Return both gradients, computed by one kernel."""
    x, gate = ctx.saved_tensors
    dx, dgate = torch.empty_like(x), torch.empty_like(gate)
    kernels.gated_silu_backward(x, gate, dy.contiguous(), dx, dgate, x.numel())
    return dx, dgate


@hidet.torch.register_op("hidet_examples::gated_silu", backward=backward, setup_context=save)
def gated_silu(x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
    """Return silu(x) * gate."""
    y = torch.empty_like(x)
    kernels.gated_silu_forward(x, gate, y, x.numel())
    return y


class MLP(nn.Module):
    """The feed-forward block of a transformer, with the operator."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.gate = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x [..., width] to the same shape."""
        return self.down(gated_silu(self.up(x), self.gate(x)))

    def reference(self, x: torch.Tensor) -> torch.Tensor:
        """Return the same, computed by torch operators."""
        return self.down(F.silu(self.up(x)) * self.gate(x))


if __name__ == "__main__":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, x = MLP(64, 96).to(device), torch.randn(20, 64, device=device)
    compiled = torch.compile(model, backend="hidet", fullgraph=True)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), model.reference(x), rtol=1e-4, atol=1e-4)
    (graph,) = hidet.torch.compiled_graphs()
    print(*(kernel.symbol for kernel in graph.plan.kernels))
    weights = list(model.parameters())
    found = torch.autograd.grad(model(x).square().sum(), weights)
    wanted = torch.autograd.grad(model.reference(x).square().sum(), weights)
    torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-3)
    print("custom_op: values and gradients are right")
