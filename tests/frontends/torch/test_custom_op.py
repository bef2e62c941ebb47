"""Operators of kernels of scripts: eager, under torch.compile, with gradients."""

import math
from functools import cache

import pytest
import torch
from torch.nn import functional as F

import hidet
from hidet.errors import HidetError
from hidet.lang import attrs, cdiv, f32
from hidet.lang.cuda import blockIdx, threadIdx

BACKENDS = [None, "eager", "aot_eager", "hidet"]


@pytest.fixture(autouse=True)
def fresh_dynamo():
    """No test sees what dynamo has compiled for another one."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@cache
def kernels(size):
    """silu(x) * gate, and its gradients."""
    with hidet.script_module() as module:

        @hidet.script
        def gated_silu(x: f32[size], gate: f32[size], y: f32[size]):
            attrs.cuda.grid_dim = cdiv(size, 32)
            attrs.cuda.block_dim = 32
            i = blockIdx.x * 32 + threadIdx.x
            if i < size:
                y[i] = x[i] / (1.0 + math.exp(-x[i])) * gate[i]

        @hidet.script
        def gated_silu_backward(
            x: f32[size], gate: f32[size], dy: f32[size], dx: f32[size], dgate: f32[size]
        ):
            attrs.cuda.grid_dim = cdiv(size, 32)
            attrs.cuda.block_dim = 32
            i = blockIdx.x * 32 + threadIdx.x
            if i < size:
                s = 1.0 / (1.0 + math.exp(-x[i]))
                dgate[i] = dy[i] * x[i] * s
                dx[i] = dy[i] * gate[i] * s * (1.0 + x[i] * (1.0 - s))

    return module.build()


@hidet.torch.register_op("hidet_tests::gated_silu_backward")
def gated_silu_backward(
    x: torch.Tensor, gate: torch.Tensor, dy: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    dx, dgate = torch.empty_like(x), torch.empty_like(gate)
    kernels(int(x.numel())).gated_silu_backward(x, gate, dy.contiguous(), dx, dgate)
    return dx, dgate


def save(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def backward(ctx, dy):
    return gated_silu_backward(*ctx.saved_tensors, dy)


def compute(x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    kernels(int(x.numel())).gated_silu(x, gate, y)
    return y


gated_silu = hidet.torch.register_op(
    "hidet_tests::gated_silu", compute, backward=backward, setup_context=save
)


def function(x, gate):
    """The operator between others."""
    return gated_silu(x.sin(), gate * 2).cos()


def reference(x, gate):
    return (F.silu(x.sin()) * (gate * 2)).cos()


def gradients(function, x, gate):
    """The result, and the gradients of a weighted sum of it."""
    result = function(x, gate)
    weights = torch.linspace(-1, 1, result.numel(), dtype=result.dtype)
    return result, *torch.autograd.grad((result * weights).sum(), (x, gate))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.sample(2)
def test_backends(backend):
    """Values and gradients are right, in one graph, for one size and for several."""
    compiled = function
    if backend is not None:
        compiled = torch.compile(function, backend=backend, fullgraph=True)
    for size in (100, 100, 70, 33):
        x, gate = (torch.randn(size, requires_grad=True) for _ in range(2))
        found = gradients(compiled, x, gate)
        doubles = (each.detach().double().requires_grad_() for each in (x, gate))
        for one, other in zip(found, gradients(reference, *doubles), strict=True):
            torch.testing.assert_close(one.double(), other, rtol=1e-5, atol=1e-5)
        with torch.no_grad():
            torch.testing.assert_close(compiled(x, gate), reference(x, gate))


@pytest.mark.parametrize("operator", [gated_silu, gated_silu_backward], ids=["forward", "backward"])
def test_torch_finds_nothing_wrong(operator):
    """torch's own check of operators passes."""
    count = len(operator._opoverload._schema.arguments)
    inputs = [torch.randn(40, requires_grad=operator is gated_silu) for _ in range(count)]
    results = torch.library.opcheck(operator, inputs)
    assert set(results.values()) == {"SUCCESS"}
    assert torch.equal(torch.ops.hidet_tests.gated_silu(*inputs[:2]), gated_silu(*inputs[:2]))


def test_one_program(compiled_plan):
    """Our backend looks inside: the kernel computes what stands around it, in one launch."""
    x, gate = torch.randn(64), torch.randn(64)
    _, plan = compiled_plan(function, x, gate)
    names = [plan.kernels[launch.kernel].symbol for launch in plan.forward]
    assert names == ["mul_sin_gated_silu_cos"]


@pytest.mark.slow
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_loss_in_chunks(reduction):
    """An operator of torch that is written in Python is compiled, with its gradients."""
    options = pytest.importorskip("torch.nn.modules.linear_cross_entropy_options")
    chunks = options.LinearCrossEntropyOptions(batch_chunk_size=4, allow_retain_graph=True)
    x, weight = (torch.randn(n, 6, requires_grad=True) for n in (8, 5))
    labels = torch.tensor([1, 4, -100, 0, 2, 2, 3, 1])

    def loss(x, weight):
        found = F.linear_cross_entropy(x, weight, labels, reduction=reduction, options=chunks)
        return found.sum()

    compiled = torch.compile(loss, backend="hidet", options={"fallback": False})
    found, expected = (torch.autograd.grad(f(x, weight), (x, weight)) for f in (compiled, loss))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(compiled(x, weight), loss(x, weight))


def test_opaque_operators():
    """What looks at data has a fake implementation, and stays one operator for every backend."""

    @hidet.torch.register_op("hidet_tests::relative", fake=torch.empty_like, opaque=True)
    def relative(x: torch.Tensor) -> torch.Tensor:
        return x / x.max().item()

    compiled = torch.compile(lambda x: relative(x.exp()) + 1, backend="hidet", fullgraph=True)
    x = torch.randn(7)
    with (
        torch.no_grad(),
        pytest.warns(hidet.torch.UnsupportedOperatorWarning, match="hidet_tests.relative"),
    ):
        torch.testing.assert_close(compiled(x), x.exp() / x.exp().max() + 1)


def test_mistakes():
    """Names and combinations that cannot be are refused with what would be right."""
    with pytest.raises(HidetError, match="'silu' cannot be the name of an operator"):
        hidet.torch.register_op("silu", compute)
    with pytest.raises(HidetError, match="'a::b' has setup_context, but no backward"):
        hidet.torch.register_op("a::b", compute, setup_context=save)
