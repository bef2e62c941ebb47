"""Prologues and epilogues of script kernels in compiled functions are fused."""

import math

import pytest
import torch
from torch.nn import functional as F

import hidet
from hidet.lang import attrs, cdiv, f32, f32x4, i32
from hidet.lang.cuda import atomic_add, blockIdx, load, store, threadIdx

N, M = 5, 24
SIZE = N * M


@pytest.fixture(autouse=True)
def fresh_dynamo():
    """No test sees what dynamo has compiled for another one."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def build():
    """Kernels that pass on elements, each in a way of its own."""
    with hidet.script_module() as module:

        @hidet.script
        def silu(x: ~f32, y: ~f32, n: i32):
            attrs.cuda.grid_dim = cdiv(n, 32)
            attrs.cuda.block_dim = 32
            i = blockIdx.x * 32 + threadIdx.x
            if i < n:
                y[i] = x[i] / (1.0 + math.exp(-x[i]))

        @hidet.script
        def row_sums(x: f32[N, M], y: f32[N]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = N
            total = f32(0)
            for j in range(M):
                total += x[threadIdx.x, j] * x[threadIdx.x, M - 1 - j]
            y[threadIdx.x] = total

        @hidet.script
        def first_half(x: f32[N, M], y: f32[N, M]):
            attrs.cuda.grid_dim = N
            attrs.cuda.block_dim = M // 2
            y[blockIdx.x, threadIdx.x] = x[blockIdx.x, threadIdx.x]

        @hidet.script
        def twice(x: f32[N, M], y: f32[N, M]):
            attrs.cuda.grid_dim = N
            attrs.cuda.block_dim = M
            y[blockIdx.x, threadIdx.x] = x[blockIdx.x, threadIdx.x]
            y[blockIdx.x, threadIdx.x] += x[blockIdx.x, threadIdx.x]

        @hidet.script
        def scatter(x: f32[N, M], y: f32[M]):
            attrs.cuda.grid_dim = N
            attrs.cuda.block_dim = M
            atomic_add(~y[threadIdx.x], x[blockIdx.x, threadIdx.x])

        @hidet.script
        def vectors(x: ~f32, y: ~f32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = SIZE // 4
            i = threadIdx.x * 4
            store(~y[i], load(~x[i], dtype=f32x4) * 2.0)

        @hidet.script
        def sum_and_difference(x: f32[N, M], y: f32[N, M], s: f32[N, M], d: f32[N, M]):
            attrs.cuda.grid_dim = N
            attrs.cuda.block_dim = M
            i, j = blockIdx.x, threadIdx.x
            s[i, j] = x[i, j] + y[i, j]
            d[i, j] = x[i, j] - y[i, j]

    return module.build()


@pytest.fixture(scope="module")
def kernels():
    """The kernels."""
    return build()


@pytest.fixture
def silu(kernels):
    """An operator of a kernel."""

    @hidet.torch.register_op("hidet_tests::fused_silu")
    def operator(x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        kernels.silu(x, y, x.numel())
        return y

    return operator


@pytest.fixture
def launches(compiled_plan):
    """Return a function that compiles another one: its result, and the kernels that it launches."""

    def run(function, *arguments):
        found, plan = compiled_plan(function, *arguments)
        return found, [plan.kernels[launch.kernel].symbol for launch in plan.forward]

    return run


def assert_close(found, expected, tolerance=1e-5):
    """Compare with a float64 reference."""
    torch.testing.assert_close(found.double(), expected, rtol=tolerance, atol=tolerance)


def test_before_and_after(silu, launches):
    """Scale, ReLU, the kernel, a bias and a cast are one launch, in shapes of their own."""
    x, bias = torch.randn(N, M), torch.randn(M)

    def function(x, bias):
        return (silu((x * 3).relu().reshape(-1)).reshape(N, M) + bias).half()

    found, names = launches(function, x, bias)
    assert len(names) == 1
    assert "silu" in names[0]
    assert found.dtype == torch.float16
    expected = F.silu((x.double() * 3).relu()) + bias.double()
    torch.testing.assert_close(found.double(), expected, rtol=1e-3, atol=1e-3)


def test_costly_operators_go_where_elements_are_loaded_once(silu, launches):
    """exp before the kernel and after it."""
    x, y = torch.randn(SIZE), torch.randn(SIZE)
    found, names = launches(lambda x, y: silu(x.exp()).exp() * y.sin(), x, y)
    assert len(names) == 1
    assert_close(found, F.silu(x.double().exp()).exp() * y.double().sin())


def test_equal_calls_share_a_kernel(silu, launches):
    """Three layers are three launches of one kernel."""
    x = torch.randn(SIZE)

    def function(x):
        for _ in range(3):
            x = silu(x) * 2
        return x

    found, names = launches(function, x)
    assert names == ["silu_mul"] * 3
    expected = x.double()
    for _ in range(3):
        expected = F.silu(expected) * 2
    assert_close(found, expected)


def test_chain_of_kernels(silu, launches):
    """Operators between two kernels are fused into the first; a slice is read through."""
    x = torch.randn(N, 2 * M)

    def function(x):
        left, right = x.chunk(2, dim=1)
        return silu(silu(left.contiguous()) + right).neg()

    found, names = launches(function, x)
    assert len(names) == 2
    left, right = x.double().chunk(2, dim=1)
    assert_close(found, -F.silu(F.silu(left) + right))


def test_cheap_operators_are_computed_at_every_load(kernels, launches):
    """A kernel that loads elements several times computes ReLU each time, but not exp."""
    x = torch.randn(N, M)

    def sums(x):
        y = torch.empty(N)
        kernels.row_sums(x, y)
        return y

    for operator, count in ((torch.relu, 1), (torch.exp, 2)):
        found, names = launches(lambda x, operator=operator: sums(operator(x)) * 2, x)
        assert len(names) == count
        assert names[-1].endswith("row_sums_mul")
        y = operator(x.double())
        assert_close(found, (y * y.flip(1)).sum(1) * 2)


def test_what_is_not_stored_is_not_read(kernels, launches):
    """A mask that hides what the kernel leaves undefined keeps hiding it."""
    x, mask = torch.randn(N, M), torch.arange(M) < M // 2

    def function(x, mask):
        y = torch.empty_like(x)
        kernels.first_half(x, y)
        return torch.where(mask, y, 7.0)

    found, names = launches(function, x, mask)
    assert names[0] == "first_half"
    assert len(names) == 2
    assert_close(found, torch.where(mask, x.double(), 7.0))


def test_results_that_are_read_again(kernels, launches):
    """A kernel that loads what it has stored reads it back."""
    x = torch.randn(N, M)

    def function(x):
        y = torch.empty_like(x)
        kernels.twice(x, y)
        return y.exp()

    found, names = launches(function, x)
    assert names == ["twice", "exp_kernel"]
    assert_close(found, (2 * x.double()).exp())


def test_results_with_contents(kernels, launches):
    """A kernel that adds to something, at addresses, gets it complete."""
    x, y = torch.randn(N, M), torch.randn(M)

    def function(x, y):
        total = y.exp()
        kernels.scatter(x.relu(), total)
        return total.exp()

    found, names = launches(function, x, y)
    assert sorted(names[:-2]) == ["exp_kernel"]
    assert names[-2:] == ["relu_scatter", "exp_kernel"]
    assert_close(found, (y.double().exp() + x.double().relu().sum(0)).exp(), 1e-4)


def test_vectors(kernels, launches):
    """A kernel that loads and stores vectors works on memory."""
    x = torch.randn(SIZE)

    def function(x):
        y = torch.empty_like(x)
        kernels.vectors(x.relu(), y)
        return y.exp()

    found, names = launches(function, x)
    assert names == ["relu_kernel", "vectors", "exp_kernel"]
    assert_close(found, (x.double().relu() * 2).exp())


def test_several_arguments_and_results(kernels, launches):
    """Each argument and each result has its own prologue or epilogue; a consumer of both waits."""
    x, y = torch.randn(N, M), torch.randn(N, M)

    def function(x, y, product):
        s, d = torch.empty_like(x), torch.empty_like(x)
        kernels.sum_and_difference(x * 2, y.relu(), s, d)
        return s * d if product else (s.exp(), d.abs() + x)

    a, b = x.double() * 2, y.double().relu()
    (one, other), names = launches(lambda x, y: function(x, y, False), x, y)
    assert len(names) == 1
    assert_close(one, (a + b).exp())
    assert_close(other, (a - b).abs() + x.double())
    found, names = launches(lambda x, y: function(x, y, True), x, y)
    assert len(names) == 2
    assert_close(found, (a + b) * (a - b))


def test_one_tensor_for_two_arguments(kernels, launches):
    """Both arguments load through what makes the tensor."""
    x = torch.randn(N, M)

    def function(x):
        s, d = torch.empty_like(x), torch.empty_like(x)
        y = x.relu()
        kernels.sum_and_difference(y, y, s, d)
        return s

    found, names = launches(function, x)
    assert len(names) == 1
    assert_close(found, 2 * x.double().relu())


def test_examples(load_example, launches):
    """A norm over rows in f16, and a GEMM, with prologues and epilogues."""
    rms_norm, matmul = (load_example(name) for name in ("rms_norm", "matmul_simt"))
    norm, product = rms_norm.build(4, 256), matmul.build(4, 40, 256)
    x, residual = torch.randn(4, 256).half(), torch.randn(4, 256).half()
    weight, bias = torch.rand(256).half(), torch.randn(40)
    matrix = torch.randn(256, 40) / 16

    def function(x, residual, weight, matrix, bias):
        y, z = torch.empty_like(x), torch.empty(4, 40)
        norm(x.relu(), residual, weight, y)
        product(y.float(), matrix, z)
        return z * 2 + bias

    found, names = launches(function, x, residual, weight, matrix, bias)
    assert len(names) == 2
    total = x.double().relu() + residual.double()
    scale = (total.square().mean(1, keepdim=True) + 1e-6).rsqrt()
    y = (total * scale * weight.double()).half().double()
    expected = (y @ matrix.double()).relu() * 2 + bias.double()
    torch.testing.assert_close(found.double(), expected, rtol=2e-3, atol=2e-3)


def test_strict_mode(silu, launches):
    """The strict mode finds nothing wrong with what has been fused."""
    x, bias = torch.randn(N, M), torch.randn(M)
    with hidet.option.context(strict=True):
        found, names = launches(lambda x, bias: silu(x.relu()) + bias, x, bias)
    assert names == ["relu_silu_add"]
    assert_close(found, F.silu(x.double().relu()) + bias.double())
