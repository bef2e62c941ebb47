"""Convolutions, pools and products, as grids around matrix products, against torch in float64."""

from functools import partial

import pytest
import torch
from torch.nn import functional

from hidet.dialects import graph
from hidet.dialects.graph.contraction import Window
from hidet.testing.numeric import assert_close


def random(*shape):
    """Random numbers around 0."""
    return torch.randn(shape, dtype=torch.float64)


CONVOLUTIONS = {
    "plain": ((2, 3, 7, 6), (4, 3, 3, 3), {}),
    "strided and padded": ((2, 3, 8, 7), (4, 3, 3, 2), {"stride": (2, 1), "padding": (1, 2)}),
    "dilated": ((1, 2, 9, 9), (3, 2, 3, 3), {"dilation": (2, 3), "padding": 2}),
    "grouped": ((2, 18, 5, 5), (4, 9, 3, 3), {"groups": 2, "padding": 1}),
    "depthwise": ((2, 3, 5, 6), (3, 1, 3, 3), {"groups": 3, "padding": 1, "stride": 2}),
    "depthwise with two filters": ((1, 3, 5, 5), (6, 1, 2, 2), {"groups": 3}),
    "1x1": ((2, 5, 3, 4), (6, 5, 1, 1), {}),
    "1x1 strided": ((1, 5, 6, 6), (2, 5, 1, 1), {"stride": 2}),
    "kernel as large as the image": ((3, 2, 4, 4), (5, 2, 4, 4), {}),
    "no channels": ((1, 0, 4, 4), (2, 0, 3, 3), {}),
}


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_conv2d(check_op, case, bias):
    x, weight, options = CONVOLUTIONS[case]
    tensors = [random(*x), random(*weight), *([random(weight[0])] if bias else [])]
    reference = partial(functional.conv2d, **options)
    if case == "no channels":  # torch refuses it
        tensors[:2] = random(*x), random(*weight)
        shape = (1, 2, 2, 2)

        def reference(x, weight, bias=None):
            zeros = torch.zeros(shape, dtype=torch.float64)
            return zeros if bias is None else zeros + bias[:, None, None]

    check_op(partial(graph.Conv2dOp, **options), reference, *tensors)


def test_convolution_of_halves_is_accumulated_in_f32(run_graph):
    x, weight, bias = (random(*s).half() for s in ((1, 64, 6, 6), (8, 64, 3, 3), (8,)))
    actual = run_graph(lambda program, *v: graph.Conv2dOp(*v, padding=1), x, weight, bias)
    expected = functional.conv2d(x.double(), weight.double(), bias.double(), padding=1)
    assert_close(actual, expected, torch.finfo(torch.float16).eps)


POOLS = [
    ((2, 3, 8, 7), {"kernel_size": (3, 3), "stride": (2, 2), "padding": (1, 1)}),
    ((2, 3, 8, 7), {"kernel_size": (2, 3), "stride": (1, 2)}),
    ((1, 2, 7, 8), {"kernel_size": (3, 3), "stride": (2, 2), "padding": (1, 1), "ceil_mode": True}),
    ((2, 5, 5), {"kernel_size": (2, 2), "stride": (3, 3), "padding": (1, 1), "ceil_mode": True}),
    ((1, 1, 6, 6), {"kernel_size": (2, 2), "stride": (2, 2)}),
    (
        (1, 2, 9, 9),
        {"kernel_size": (3, 3), "stride": (2, 2), "padding": (1, 1), "dilation": (2, 2)},
    ),
]


def reduced_windows(op, outside, *, kernel_size, padding=(0, 0), **options):
    """Return what builds a reduction of windows with the options of a pool of torch."""

    def build(program, x):
        window = Window(kernel_size, padding=padding, **options)
        return op(program.emit(graph.WindowsOp(x, outside, window)), (-2, -1))

    return build


@pytest.mark.parametrize(("shape", "options"), POOLS, ids=str)
def test_windows(run_graph, shape, options):
    """Pools are reductions of windows; NaN is the largest number."""
    x = random(*shape)
    build = reduced_windows(graph.MaxOp, -torch.inf, **options)
    assert_close(run_graph(build, x), functional.max_pool2d(x, **options), 1e-12)
    if "dilation" not in options:
        sums = functional.avg_pool2d(x, **options, divisor_override=1)
        assert_close(run_graph(reduced_windows(graph.SumOp, 0, **options), x), sums, 1e-12)
    x.flatten()[3] = torch.nan
    x.flatten()[-1] = -torch.inf
    assert_close(run_graph(build, x), functional.max_pool2d(x, **options), 1e-12)


# ----------------------------------------------------------------------------- products


@pytest.mark.parametrize(
    ("lhs", "rhs"),
    [
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((2, 1, 3, 4), (3, 4, 5)),
        ((1, 1), (1, 1)),
        ((3, 0), (0, 5)),
        ((0, 4), (4, 5)),
    ],
)
def test_matmul(check_op, lhs, rhs):
    check_op(graph.MatmulOp, torch.matmul, random(*lhs), random(*rhs))
    left, right = (torch.randint(-9, 9, shape) for shape in (lhs, rhs))
    check_op(graph.MatmulOp, torch.matmul, left, right)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("leading", [(), (3,), (2, 3), (0,)])
def test_linear(check_op, leading, bias):
    tensors = [random(*leading, 4), random(5, 4), *([random(5)] if bias else [])]
    check_op(graph.LinearOp, functional.linear, *tensors)


def test_linear_of_halves_is_accumulated_in_f32(run_graph):
    tensors = [random(*shape).half() for shape in ((4, 256), (8, 256), (8,))]
    actual = run_graph(lambda program, *v: graph.LinearOp(*v), *tensors)
    expected = functional.linear(*(x.double() for x in tensors))
    assert_close(actual, expected, torch.finfo(torch.float16).eps)


MASKS = {
    "none": None,
    "boolean": torch.tensor([[True, False, True], [True, True, False]]),
    "nothing to attend to": torch.tensor([[False, False, False], [True, True, False]]),
    "added": torch.randn(2, 3, dtype=torch.float64),
    "minus infinity": torch.tensor([[0.0, -torch.inf, 0.0], [-torch.inf] * 3]).double(),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("scale", [None, 0.3])
def test_attention(check_op, mask, scale):
    tensors = [random(2, 4, 2, 5), random(2, 4, 3, 5), random(2, 4, 3, 6)]
    if MASKS[mask] is not None:
        tensors.append(MASKS[mask])
    check_op(
        partial(graph.ScaledDotProductAttentionOp, scale=scale),
        partial(functional.scaled_dot_product_attention, scale=scale),
        *tensors,
    )


@pytest.mark.parametrize("queries", [2, 3, 5])
def test_causal_attention(check_op, queries):
    check_op(
        partial(graph.ScaledDotProductAttentionOp, causal=True),
        partial(functional.scaled_dot_product_attention, is_causal=True),
        random(1, queries, 5),
        random(1, 3, 5),
        random(1, 3, 5),
    )
