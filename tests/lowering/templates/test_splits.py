"""Numbers of products in parts, and when the cost model splits a product."""

import random

import pytest
import torch
from torch.nn import functional

from hidet.arch.chips import Arch
from hidet.lowering.compute import split_products
from hidet.lowering.templates.blocking import Blocking
from hidet.lowering.templates.problem import Problem
from hidet.lowering.templates.splits import GAIN, best_split, time_in_parts, time_of

H200 = Arch.parse("sm_90a")


@pytest.fixture
def split(monkeypatch, choose):
    """Give a function that has all products split into parts, on tensor cores, in strict mode."""

    def split(parts):
        monkeypatch.setattr(split_products, "best_split", lambda *_, **__: parts)
        return choose(Blocking("m16n8k16_f16_f32", 16, 32, 32, 1, 2, 2))

    return split


def test_epilogue(check, split):
    """What follows a product joins the sum of the parts; sizes are any."""
    m, n, parts = random.randint(1, 40), random.randint(1, 80), random.choice((2, 4))
    k = parts * random.randint(1, 150 // parts)
    x, w, b = (torch.randn(*shape).half() for shape in ((m, k), (k, n), (n,)))
    check(
        f"""
        %p = graph.matmul %x, %w : (tensor<{m}x{k}xf16>, tensor<{k}x{n}xf16>) -> tensor<{m}x{n}xf16>
        %s = graph.add %p, %b : (tensor<{m}x{n}xf16>, tensor<{n}xf16>) -> tensor<{m}x{n}xf16>
        %y = graph.relu %s : tensor<{m}x{n}xf16>
        """,
        {"x": x, "w": w, "b": b},
        {"y": (x.double() @ w.double() + b.double()).relu()},
        dtype=torch.float16,
        tolerance=4e-3,
        kernels=2,
        options=split(parts),
    )


def test_batches(check, split):
    """Parts stand in front of the batch, also where an operand has none."""
    x, w = torch.randn(3, 20, 64).half(), torch.randn(64, 24).half()
    check(
        """
        %y = graph.matmul %x, %w : (tensor<3x20x64xf16>, tensor<64x24xf16>) -> tensor<3x20x24xf16>
        """,
        {"x": x, "w": w},
        {"y": x.double() @ w.double()},
        dtype=torch.float16,
        tolerance=4e-3,
        kernels=2,
        options=split(4),
    )


def test_convolution(check, split):
    """The im2col view of a convolution is cut as any operand; image and filters are packed."""
    x, w = torch.randn(1, 8, 7, 7).half(), torch.randn(24, 8, 3, 3).half()
    check(
        """
        %p = graph.conv2d %x, %w {padding = array<i64: 1, 1>}
          : (tensor<1x8x7x7xf16>, tensor<24x8x3x3xf16>) -> tensor<1x24x7x7xf16>
        %y = graph.relu %p : tensor<1x24x7x7xf16>
        """,
        {"x": x, "w": w},
        {"y": functional.conv2d(x.double(), w.double(), padding=1).relu()},
        dtype=torch.float16,
        tolerance=4e-3,
        kernels=4,
        options=split(2),
    )


def problem(m, n, k, kind="f16"):
    """Give a product of f32 sums."""
    return Problem(1, m, n, k, kind, "f32", 4 if kind == "f32" else 2)


def test_cost_model():
    """Long sums with few tiles are split, others are not; the choice is the fastest by a margin."""
    late_layer = problem(512, 49, 4608)
    parts = best_split(late_layer, H200)
    assert parts > 1
    assert time_in_parts(late_layer, parts, H200) < GAIN * time_of(late_layer, H200)
    assert best_split(problem(16, 2048, 16384), H200) > 1
    assert best_split(problem(4096, 4096, 4096), H200) == 1
    assert best_split(problem(128, 768, 3072, "f32"), H200) > 1
    assert best_split(problem(1, 4096, 16384), H200) == 1
    assert best_split(problem(196, 160, 9 * 448), H200) == 9  # no cache lines in halves
    assert best_split(late_layer, Arch.parse("cpu")) == 1
