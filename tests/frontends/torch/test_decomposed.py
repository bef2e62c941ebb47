"""Operators that are taken apart into others: what is made of them computes what they do."""

import itertools

import pytest
import torch
from torch.nn import functional as F

from hidet.frontends.torch.decomposed import DECOMPOSED

aten = torch.ops.aten


def floats(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def check(target, *arguments, expected=None, **keywords):
    """Compare the results of a function with those of its operator, or with others."""
    actual = DECOMPOSED[target](*arguments, **keywords)
    expected = target(*arguments, **keywords) if expected is None else expected
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("transposed", [False, True])
def test_convolution(rank, transposed):
    """Forward, where it is taken apart, and backward."""
    for stride, dilation, groups in itertools.product((1, 2, 3), (1, 2), (1, 2)):
        x, bias = floats(2, 4, *[11] * rank), floats(6)
        weight = floats(*((4, 6 // groups) if transposed else (6, 4 // groups)), *[3] * rank)
        extra = [stride - 1 if transposed and dilation >= stride else 0] * rank
        window = ([stride] * rank, [1], [dilation] * rank, transposed, extra, groups)
        result = aten.convolution(x, weight, bias, *window)
        if transposed or rank == 3:
            check(aten.convolution.default, x, weight, bias, *window, expected=result)
        else:
            found = DECOMPOSED[aten.convolution.default](x, weight, bias, *window)
            assert found is NotImplemented
        grad = torch.randn_like(result)
        check(aten.convolution_backward.default, grad, x, weight, [6], *window, [True] * 3)


@pytest.mark.parametrize(
    "window",
    [
        ([3, 3], [2, 2], [1, 1], False, True, None),
        ([2, 3], [], [0, 1], True, False, None),
        ([3, 3], [2, 2], [1, 1], False, True, 5),
    ],
    ids=str,
)
def test_avg_pool(window):
    x = floats(2, 3, 9, 8)
    grad = torch.randn_like(aten.avg_pool2d(x, *window))
    check(aten.avg_pool2d_backward.default, grad, x, *window)


@pytest.mark.parametrize("size", [(1, 1), (3, 4), (4, 5)], ids=str)
def test_adaptive_avg_pool(size):
    x = floats(2, 3, 9, 8)
    grad = torch.randn_like(F.adaptive_avg_pool2d(x, size))
    check(aten._adaptive_avg_pool2d_backward.default, grad, x)


def test_max_pool():
    x, window = floats(2, 3, 9, 8), ([3, 3], [2, 2], [1, 1], [1, 1], False)
    result, positions = aten.max_pool2d_with_indices(x, *window)
    grad = torch.randn_like(result)
    check(aten.max_pool2d_with_indices_backward.default, grad, x, *window, positions)


CPU, CUDNN, EFFICIENT, FLASH = (
    aten._scaled_dot_product_flash_attention_for_cpu_backward.default,
    aten._scaled_dot_product_cudnn_attention_backward.default,
    aten._scaled_dot_product_efficient_attention_backward.default,
    aten._scaled_dot_product_flash_attention_backward.default,
)


@pytest.mark.parametrize("scale", [None, 0.3])
@pytest.mark.parametrize("kind", ["plain", "causal", "mask"])
def test_attention(kind, scale):
    """The forms of GPUs take their arguments in other orders, and compute what a CPU's does."""
    query, key, value = (floats(2, 3, 5, 4) for _ in range(3))
    causal, mask = kind == "causal", floats(2, 3, 5, 5) if kind == "mask" else None
    forward = aten._scaled_dot_product_flash_attention_for_cpu
    out, sums = forward(query, key, value, 0.0, causal, attn_mask=mask, scale=scale)
    grad, seed = torch.randn_like(out), torch.tensor(0)
    first = (grad, query, key, value)
    expected = CPU(*first, out, sums, 0.0, causal, attn_mask=mask, scale=scale)
    check(CPU, *first, out, sums, 0.0, causal, attn_mask=mask, scale=scale)
    sizes = (None, None, 5, 5, 0.0, causal)
    rest = (out, sums, seed, seed)
    check(CUDNN, *first, *rest, mask, *sizes, scale=scale, expected=expected)
    found = DECOMPOSED[EFFICIENT](*first, mask, *rest, 0.0, [True] * 4, causal, scale=scale)
    torch.testing.assert_close(found[:3], expected)
    if mask is None:
        check(FLASH, *first, out, sums, *sizes, seed, seed, scale=scale, expected=expected)
