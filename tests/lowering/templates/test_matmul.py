"""Numbers of the template `matmul`: products of all shapes, and what is fused to them."""

import math

import pytest
import torch
from torch.nn import functional

PRECISIONS = [
    pytest.param(torch.float64, "f64", 1e-13, id="f64"),
    pytest.param(torch.float32, "f32", 1e-5, id="f32"),
    pytest.param(torch.float16, "f16", 2e-3, id="f16"),
    pytest.param(torch.bfloat16, "bf16", 1.6e-2, id="bf16"),
]


@pytest.mark.parametrize(("dtype", "t", "tolerance"), PRECISIONS)
def test_bias_and_relu(check, dtype, t, tolerance):
    """Sizes that no tile divides; the epilogue works on the sum before it is rounded."""
    x, w, b = (torch.randn(*shape).to(dtype) for shape in ((33, 41), (41, 51), (51,)))
    check(
        f"""
        %p = graph.matmul %x, %w : (tensor<33x41x{t}>, tensor<41x51x{t}>) -> tensor<33x51x{t}>
        %s = graph.add %p, %b : (tensor<33x51x{t}>, tensor<51x{t}>) -> tensor<33x51x{t}>
        %y = graph.relu %s : tensor<33x51x{t}>
        """,
        {"x": x, "w": w, "b": b},
        {"y": (x.double() @ w.double() + b.double()).relu()},
        dtype=dtype,
        tolerance=tolerance,
    )


@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 1), (1, 300, 2), (130, 3, 1), (64, 64, 128)])
def test_sizes(check, m, k, n):
    """Vectors, scalars, deep and flat products, and one that tiles divide."""
    x, w = torch.randn(m, k), torch.randn(k, n)
    check(
        f"%y = graph.matmul %x, %w : (tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>)"
        f" -> tensor<{m}x{n}xf32>",
        {"x": x, "w": w},
        {"y": x.double() @ w.double()},
    )


def test_batches(check):
    """Matrices of a batch, of which one operand may have one only, or no dimension at all."""
    x, w, v = torch.randn(3, 2, 5, 17), torch.randn(3, 1, 17, 18), torch.randn(18, 9)
    product = x.double() @ w.double()
    check(
        """
        %p = graph.matmul %x, %w
          : (tensor<3x2x5x17xf32>, tensor<3x1x17x18xf32>) -> tensor<3x2x5x18xf32>
        %y = graph.matmul %p, %v : (tensor<3x2x5x18xf32>, tensor<18x9xf32>) -> tensor<3x2x5x9xf32>
        """,
        {"x": x, "w": w, "v": v},
        {"y": product @ v.double()},
        kernels=2,
    )


def test_split_heads(check):
    """An epilogue that reshapes and permutes is inverted; both results come from one kernel."""
    x, w = torch.randn(2, 7, 24), torch.randn(24, 24)
    product = (x.double() @ w.double()).reshape(2, 7, 4, 6)
    check(
        """
        %f = graph.reshape %x : (tensor<2x7x24xf32>) -> tensor<14x24xf32>
        %p = graph.matmul %f, %w : (tensor<14x24xf32>, tensor<24x24xf32>) -> tensor<14x24xf32>
        %r = graph.reshape %p : (tensor<14x24xf32>) -> tensor<2x7x4x6xf32>
        %h = graph.permute %r {dims = array<i64: 0, 2, 1, 3>}
          : (tensor<2x7x4x6xf32>) -> tensor<2x4x7x6xf32>
        %t = graph.tanh %r : tensor<2x7x4x6xf32>
        """,
        {"x": x, "w": w},
        {"h": product.transpose(1, 2), "t": product.tanh()},
    )


def test_operands_that_are_computed(check):
    """Transposed, sliced, padded and shifted operands are read where they are."""
    x, w = torch.randn(20, 30), torch.randn(9, 11)
    left = functional.pad(x.double()[::2, 3:12].T, (0, 1))
    check(
        """
        %s = graph.slice %x {starts = array<i64: 0, 3>, steps = array<i64: 2, 1>,
          stops = array<i64: 20, 12>} : (tensor<20x30xf32>) -> tensor<10x9xf32>
        %t = graph.permute %s {dims = array<i64: 1, 0>} : (tensor<10x9xf32>) -> tensor<9x10xf32>
        %l = graph.pad %t {low = array<i64: 0, 0>, high = array<i64: 0, 1>, value = 0.0 : f32}
          : (tensor<9x10xf32>) -> tensor<9x11xf32>
        %d = graph.add %w, %w : (tensor<9x11xf32>, tensor<9x11xf32>) -> tensor<9x11xf32>
        %r = graph.permute %d {dims = array<i64: 1, 0>} : (tensor<9x11xf32>) -> tensor<11x9xf32>
        %y = graph.matmul %l, %r : (tensor<9x11xf32>, tensor<11x9xf32>) -> tensor<9x9xf32>
        """,
        {"x": x, "w": w},
        {"y": left @ (2 * w.double()).T},
        kernels=2,
    )


def test_residual_and_reader(check):
    """A residual is added in the epilogue; rows read the stored product in their own kernel."""
    x, w, r = torch.randn(19, 40), torch.randn(40, 40), torch.randn(19, 40)
    s = x.double() @ w.double() + r.double()
    check(
        """
        %p = graph.matmul %x, %w : (tensor<19x40xf32>, tensor<40x40xf32>) -> tensor<19x40xf32>
        %s = graph.add %p, %r : (tensor<19x40xf32>, tensor<19x40xf32>) -> tensor<19x40xf32>
        %y = graph.softmax %s {axis = 1 : i64} : tensor<19x40xf32>
        """,
        {"x": x, "w": w, "r": r},
        {"s": s, "y": s.softmax(1)},
        kernels=2,
    )


@pytest.mark.parametrize(
    ("shape", "weight", "stride", "padding", "dilation", "groups", "packed"),
    [
        ((2, 3, 9, 8), (5, 3, 3, 3), (2, 1), (1, 1), (1, 1), 1, 2),
        ((1, 18, 7, 7), (6, 9, 3, 2), (1, 1), (0, 1), (2, 1), 2, 2),
        ((2, 5, 6, 6), (7, 5, 1, 1), (1, 1), (0, 0), (1, 1), 1, 0),
    ],
)
def test_conv2d(check, shape, weight, stride, padding, dilation, groups, packed):
    """A convolution with its epilogue is one product, of what is packed for it."""
    x, w, b = torch.randn(shape), torch.randn(weight), torch.randn(weight[0])
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    expected = functional.conv2d(x.double(), w.double(), b.double(), **options).relu()
    tensors = [f"tensor<{'x'.join(map(str, t.shape))}xf32>" for t in (x, w, b, expected)]
    pairs = {key: f"array<i64: {value[0]}, {value[1]}>" for key, value in list(options.items())[:3]}
    attributes = ", ".join(f"{key} = {value}" for key, value in pairs.items())
    check(
        f"""
        %p = graph.conv2d %x, %w, %b {{{attributes}, groups = {groups} : i64}}
          : ({", ".join(tensors[:3])}) -> {tensors[3]}
        %y = graph.relu %p : {tensors[3]}
        """,
        {"x": x, "w": w, "b": b},
        {"y": expected},
        kernels=1 + packed,
    )


def test_without_elements(check):
    """A product without rows is no work; a sum over nothing is 0, and its epilogue still runs."""
    check(
        """
        %y = graph.matmul %x, %w : (tensor<0x5xf32>, tensor<5x4xf32>) -> tensor<0x4xf32>
        %z = graph.matmul %e, %f : (tensor<3x0xf32>, tensor<0x2xf32>) -> tensor<3x2xf32>
        %u = graph.exp %z : tensor<3x2xf32>
        """,
        {
            "x": torch.empty(0, 5),
            "w": torch.randn(5, 4),
            "e": torch.empty(3, 0),
            "f": torch.empty(0, 2),
        },
        {
            "y": torch.empty(0, 4, dtype=torch.float64),
            "u": torch.ones(3, 2, dtype=torch.float64),
        },
    )


def test_not_finite(check):
    """What is not finite spreads as torch has it, and not into the padding of tiles."""
    x, w = torch.randn(18, 20), torch.randn(20, 17)
    x[3, 4], w[19, 16] = math.nan, math.inf
    check(
        """
        %p = graph.matmul %x, %w : (tensor<18x20xf32>, tensor<20x17xf32>) -> tensor<18x17xf32>
        %y = graph.relu %p : tensor<18x17xf32>
        """,
        {"x": x, "w": w},
        {"y": (x.double() @ w.double()).relu()},
    )
