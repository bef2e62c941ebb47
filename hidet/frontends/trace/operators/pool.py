"""Pooling: what combines the elements of windows that slide over images and volumes.

`padding` is a number for all dimensions, one for each, or those ahead of each and those behind,
which are the same.
"""

from collections.abc import Callable

from torch.nn import functional as nn

from hidet.errors import HidetError
from hidet.frontends.trace.recording import T, operator

Ints = int | tuple[int, ...]
"""A number for each dimension, or one for all of them."""


def _sides(x: T, padding: Ints) -> Ints:
    """Return padding as torch takes it."""
    rank = x.dim() - 2
    if isinstance(padding, int) or len(padding) != 2 * rank:
        return padding
    if padding[:rank] != padding[rank:]:
        raise HidetError(
            f"padding {list(padding)} is not the same ahead and behind",
            hint="conv_pad(x, pads, value) pads before pooling",
        )
    return padding[:rank]


def _means(function: Callable[..., T], what: str) -> Callable[..., T]:
    """Return the operator of torch's function that takes the means of windows."""

    def call(
        x: T,
        kernel: Ints,
        stride: Ints,
        padding: Ints,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> T:
        extra = (ceil_mode, count_include_pad, divisor_override)
        return function(x, kernel, stride, _sides(x, padding), *extra)

    call.__name__ = call.__qualname__ = function.__name__
    call.__doc__ = f"Return the means of windows of {what}."
    return operator(call)


avg_pool2d = _means(nn.avg_pool2d, "images [n, c, h, w]")
avg_pool3d = _means(nn.avg_pool3d, "volumes [n, c, d, h, w]")


@operator
def max_pool2d(x: T, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool = False) -> T:
    """Return the largest elements of windows of images [n, c, h, w]."""
    return nn.max_pool2d(x, kernel, stride, _sides(x, padding), ceil_mode=ceil_mode)


@operator
def max_pool3d(x: T, kernel: Ints, stride: Ints, padding: Ints) -> T:
    """Return the largest elements of windows of volumes [n, c, d, h, w]."""
    return nn.max_pool3d(x, kernel, stride, _sides(x, padding))


def _adaptive(function: Callable[..., T], what: str) -> Callable[..., T]:
    """Return the operator of torch's function that makes so many windows as are wanted."""

    def call(x: T, output_size: Ints) -> T:
        return function(x, output_size)

    call.__name__ = call.__qualname__ = function.__name__
    call.__doc__ = f"Return {what} of as many windows in each dimension as `output_size` says."
    return operator(call)


adaptive_avg_pool1d = _adaptive(nn.adaptive_avg_pool1d, "the means")
adaptive_avg_pool2d = _adaptive(nn.adaptive_avg_pool2d, "the means")
adaptive_avg_pool3d = _adaptive(nn.adaptive_avg_pool3d, "the means")
adaptive_max_pool1d = _adaptive(nn.adaptive_max_pool1d, "the largest elements")
adaptive_max_pool2d = _adaptive(nn.adaptive_max_pool2d, "the largest elements")
adaptive_max_pool3d = _adaptive(nn.adaptive_max_pool3d, "the largest elements")
