"""Gradients of pools."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from hidet.frontends.torch.decomposed.convolution import pads_of_gradient, spread

aten = torch.ops.aten


def max_pool_backward(grad: Tensor, x: Tensor, *rest: Any) -> Tensor:
    """The gradient goes to where the largest elements were: the last argument says so."""
    rank = 2
    pixels = grad.flatten(-rank)
    zeros = x.new_zeros(()).expand(x.shape).flatten(-rank)
    return zeros.scatter_add(-1, rest[-1].flatten(-rank), pixels).reshape(x.shape)


def avg_pool2d_backward(
    grad: Tensor,
    x: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Tensor:
    """The sums of what each element has a part in, by a pool over the spread gradient."""
    kernel, padding = _pair(kernel), _pair(padding)
    stride = _pair(stride or kernel)
    # A pool of ones by a divisor of 1 counts the elements of each window.
    ones = x.new_ones((1, *x.shape[-2:]))
    if divisor is not None:
        grad = grad / divisor
    elif count_include_pad and not ceil_mode:
        grad = grad / (kernel[0] * kernel[1])
    elif not count_include_pad:
        grad = grad / aten.avg_pool2d(ones, kernel, stride, padding, ceil_mode, True, 1)
    else:
        return NotImplemented
    grad = spread(grad, stride)
    pads = pads_of_gradient(grad.shape[-2:], x.shape[-2:], kernel, padding, [1, 1])
    grad = torch.constant_pad_nd(grad, pads)
    return aten.avg_pool2d(grad, kernel, [1, 1], [0, 0], False, True, 1)


def adaptive_avg_pool2d_backward(grad: Tensor, x: Tensor) -> Tensor:
    """Equal parts are an average pool; the gradient of others is a product with their matrices."""
    result = grad
    for dim in (-2, -1):
        size, count = x.shape[dim], grad.shape[dim]
        result = (result.transpose(dim, -1) @ _parts(count, size, grad)).transpose(dim, -1)
    return result


def _parts(count: int, size: int, like: Tensor) -> Tensor:
    """Give the matrix [count, size] of how much an element counts in a part of a dimension."""
    number = torch.arange(count, device=like.device)[:, None]
    element = torch.arange(size, device=like.device)
    begin, end = number * size // count, ((number + 1) * size + count - 1) // count
    inside = (element >= begin) & (element < end)
    return (inside / (end - begin)).to(like.dtype)


def _pair(values: Sequence[int]) -> list[int]:
    """Give a number for height and width each; one may stand for both."""
    return [values[0], values[-1]]


POOLING: dict[Any, Callable[..., Any]] = {
    aten._adaptive_avg_pool2d_backward.default: adaptive_avg_pool2d_backward,
    aten.avg_pool2d_backward.default: avg_pool2d_backward,
    aten.max_pool2d_with_indices_backward.default: max_pool_backward,
}
"""How gradients of pools are taken apart."""
