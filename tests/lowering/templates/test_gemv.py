"""Numbers of the template `gemv`: products with a few rows, as GPUs share them, in strict mode."""

import random

import pytest
import torch

from hidet.arch.chips import Arch
from hidet.lowering.templates.gemv_config import (
    GemvConfig,
    candidates,
    estimate,
    is_bound_by_memory,
)
from hidet.lowering.templates.problem import Problem

DTYPES = {
    "f64": (torch.float64, 1e-13),
    "f32": (torch.float32, 1e-5),
    "f16": (torch.float16, 2e-3),
    "bf16": (torch.bfloat16, 1.6e-2),
}
H200 = Arch.parse("sm_90a")


def product(x, w, t, along):
    """Give the text of `x @ w`, or `x @ w.T` where the matrix lies along k."""
    (m, k), (rows, columns) = x.shape, w.shape
    n = rows if along == "k" else columns
    operand, lines = "%w", ""
    if along == "k":
        operand = "%t"
        lines = (
            f"%t = graph.permute %w {{dims = array<i64: 1, 0>}} : "
            f"(tensor<{n}x{k}x{t}>) -> tensor<{k}x{n}x{t}>\n"
        )
    types = f"(tensor<{m}x{k}x{t}>, tensor<{k}x{n}x{t}>) -> tensor<{m}x{n}x{t}>"
    return f"{lines}%p = graph.matmul %x, {operand} : {types}"


SHARINGS = [
    pytest.param("k", "f16", GemvConfig("k", 8, 32, 4, 2, 2), (2, 40, 648), id="warps"),
    pytest.param("k", "f32", GemvConfig("k", 4, 64, 2, 1, 1), (1, 5, 264), id="two-warps"),
    pytest.param("k", "bf16", GemvConfig("k", 8, 8, 16, 1, 4), (3, 67, 72), id="eight-lanes"),
    pytest.param("n", "f16", GemvConfig("n", 8, 16, 8, 4, 1), (2, 72, 130), id="columns"),
    pytest.param("n", "f64", GemvConfig("n", 2, 4, 32, 2, 2), (1, 150, 17), id="vectors"),
]


@pytest.mark.parametrize(("along", "t", "sharing", "sizes"), SHARINGS)
@pytest.mark.sample(1)
def test_sharings(check, choose, along, t, sharing, sizes):
    """Threads that share sums in lanes, warps and blocks, of sizes that no step divides."""
    m, n, k = sizes
    dtype, tolerance = DTYPES[t]
    x = torch.randn(m, k).to(dtype)
    w = torch.randn((n, k) if along == "k" else (k, n)).to(dtype)
    right = w.double().T if along == "k" else w.double()
    b = torch.randn(n).to(dtype)
    check(
        f"""
        {product(x, w, t, along)}
        %s = graph.add %p, %b : (tensor<{m}x{n}x{t}>, tensor<{n}x{t}>) -> tensor<{m}x{n}x{t}>
        %y = graph.relu %s : tensor<{m}x{n}x{t}>
        """,
        {"x": x, "w": w, "b": b},
        {"y": (x.double() @ right + b.double()).relu()},
        dtype=dtype,
        tolerance=tolerance,
        options=choose(sharing),
    )


@pytest.mark.parametrize("seed", range(2))
def test_random_problems(check, choose, seed):
    """Any sizes, types and orientations, by any of the best choices of the cost model."""
    rng = random.Random(f"{random.random()} {seed}")
    along, t = rng.choice("kn"), rng.choice(list(DTYPES))
    dtype, tolerance = DTYPES[t]
    size = dtype.itemsize
    most = 2 if size == 2 else 4  # rows of which memory decides
    m, n, k = rng.randint(1, most), rng.randint(1, 300), rng.randint(1, 300)
    run = 16 // size
    while (k if along == "k" else n) % run:
        run //= 2
    total = "f64" if t == "f64" else "f32"
    found = candidates(Problem(1, m, n, k, t, total, size), along, run, H200)
    choice = rng.choice([each for each in found if each.threads <= 256][:10])
    x = torch.randn(m, k).to(dtype)
    w = torch.randn((n, k) if along == "k" else (k, n)).to(dtype)
    right = w.double().T if along == "k" else w.double()
    check(
        f"""
        {product(x, w, t, along)}
        %y = graph.tanh %p : tensor<{m}x{n}x{t}>
        """,
        {"x": x, "w": w},
        {"y": (x.double() @ right).tanh()},
        dtype=dtype,
        tolerance=tolerance,
        options=choose(choice),
    )


def test_batches(check, choose):
    """Each matrix of a batch has its rows, several batches the same matrix."""
    x, w = torch.randn(3, 2, 1, 72), torch.randn(3, 1, 40, 72)
    check(
        """
        %t = graph.permute %w {dims = array<i64: 0, 1, 3, 2>}
          : (tensor<3x1x40x72xf32>) -> tensor<3x1x72x40xf32>
        %y = graph.matmul %x, %t
          : (tensor<3x2x1x72xf32>, tensor<3x1x72x40xf32>) -> tensor<3x2x1x40xf32>
        """,
        {"x": x, "w": w},
        {"y": x.double() @ w.double().transpose(2, 3)},
        options=choose(GemvConfig("k", 4, 16, 8, 1, 1)),
    )


def test_bound_by_memory():
    """Few rows are bound by memory; their configs are sorted by the estimate."""

    def found(m, t, size):
        return is_bound_by_memory(Problem(1, m, 4096, 4096, t, "f32", size), H200)

    assert found(2, "f16", 2)
    assert found(4, "f32", 4)
    assert not found(8, "f16", 2)
    assert not found(32, "f32", 4)
    problem = Problem(1, 1, 16384, 4096, "f16", "f32", 2)
    times = [estimate(each, problem, H200) for each in candidates(problem, "k", 8, H200)]
    assert times == sorted(times)
    assert times[0] * H200.bandwidth >= 16384 * 4096 * 2 * 1e6
