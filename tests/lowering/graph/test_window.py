"""Convolutions, pools and products, as grids around matrix products, against torch in float64."""

from functools import partial

import pytest
import torch
from torch.nn import functional

from hidet.dialects import graph
from hidet.testing.numeric import assert_close


def random(*shape):
    """Random numbers around 0."""
    return torch.randn(shape, dtype=torch.float64)


CONVOLUTIONS = {
    "plain": ((2, 3, 7, 6), (4, 3, 3, 3), {}),
    "strided and padded": ((2, 3, 8, 7), (4, 3, 3, 2), {"stride": (2, 1), "padding": (1, 2)}),
    "dilated": ((1, 2, 9, 9), (3, 2, 3, 3), {"dilation": (2, 3), "padding": 2}),
    "grouped": ((2, 6, 5, 5), (4, 3, 3, 3), {"groups": 2, "padding": 1}),
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
    ((2, 3, 8, 7), {"kernel": 3, "stride": 2, "padding": 1}),
    ((2, 3, 8, 7), {"kernel": (2, 3), "stride": (1, 2)}),
    ((1, 2, 7, 8), {"kernel": 3, "stride": 2, "padding": 1, "ceil_mode": True}),
    ((2, 5, 5), {"kernel": 2, "stride": 3, "padding": 1, "ceil_mode": True}),
    ((1, 1, 6, 6), {"kernel": 2}),
]


def torch_options(options):
    """The options of a pool as torch names them."""
    return {{"kernel": "kernel_size"}.get(name, name): value for name, value in options.items()}


@pytest.mark.parametrize(("shape", "options"), POOLS, ids=str)
def test_max_pool2d(check_op, shape, options):
    x = random(*shape)
    op, reference = (
        partial(graph.MaxPool2dOp, **options),
        partial(functional.max_pool2d, **torch_options(options)),
    )
    check_op(op, reference, x)
    x.flatten()[3] = torch.nan
    x.flatten()[-1] = -torch.inf
    check_op(op, reference, x)


def test_dilated_max_pool2d(check_op):
    options = {"kernel": 3, "stride": 2, "padding": 1, "dilation": 2}
    check_op(
        partial(graph.MaxPool2dOp, **options),
        partial(functional.max_pool2d, **torch_options(options)),
        random(1, 2, 9, 9),
    )


@pytest.mark.parametrize("divisor", [None, 5])
@pytest.mark.parametrize(("shape", "options"), POOLS, ids=str)
def test_avg_pool2d(check_op, shape, options, divisor):
    op = partial(graph.AvgPool2dOp, **options, divisor=divisor)
    kernel = options["kernel"]
    size = kernel * kernel if isinstance(kernel, int) else kernel[0] * kernel[1]
    reference = partial(
        functional.avg_pool2d, **torch_options(options), divisor_override=divisor or size
    )
    check_op(op, reference, random(*shape))


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
