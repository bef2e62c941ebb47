"""Pooling of images and volumes.

`padding` is a number, one per dimension, or all leading then all trailing ones, which are equal.
"""

from collections.abc import Callable

from torch.nn import functional as nn

from hidet.errors import HidetError
from hidet.frontends.trace.recording import T, named_operator, operator

Ints = int | tuple[int, ...]
"""A number for all dimensions, or one for each."""


def _symmetric(x: T, padding: Ints) -> Ints:
    """Return the padding in torch's format."""
    rank = x.dim() - 2
    if isinstance(padding, int) or len(padding) != 2 * rank:
        return padding
    if padding[:rank] != padding[rank:]:
        raise HidetError(
            f"padding {list(padding)} is asymmetric",
            hint="conv_pad(x, pads, value) pads before pooling",
        )
    return padding[:rank]


def _average(function: Callable[..., T], what: str) -> Callable[..., T]:
    """Return the operator for an average pooling function of torch."""

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
        return function(x, kernel, stride, _symmetric(x, padding), *extra)

    return named_operator(call, function.__name__, f"Return the means of windows of {what}.")


avg_pool2d = _average(nn.avg_pool2d, "images [n, c, h, w]")
avg_pool3d = _average(nn.avg_pool3d, "volumes [n, c, d, h, w]")


@operator
def max_pool2d(x: T, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool = False) -> T:
    """Return the maxima of windows of images [n, c, h, w]."""
    return nn.max_pool2d(x, kernel, stride, _symmetric(x, padding), ceil_mode=ceil_mode)


@operator
def max_pool3d(x: T, kernel: Ints, stride: Ints, padding: Ints) -> T:
    """Return the maxima of windows of volumes [n, c, d, h, w]."""
    return nn.max_pool3d(x, kernel, stride, _symmetric(x, padding))


def _adaptive(function: Callable[..., T], what: str) -> Callable[..., T]:
    """Return the operator for an adaptive pooling function of torch."""

    def call(x: T, output_size: Ints) -> T:
        return function(x, output_size)

    document = f"Return the {what} of `output_size` windows in each dimension."
    return named_operator(call, function.__name__, document)


adaptive_avg_pool1d = _adaptive(nn.adaptive_avg_pool1d, "means")
adaptive_avg_pool2d = _adaptive(nn.adaptive_avg_pool2d, "means")
adaptive_avg_pool3d = _adaptive(nn.adaptive_avg_pool3d, "means")
adaptive_max_pool1d = _adaptive(nn.adaptive_max_pool1d, "maxima")
adaptive_max_pool2d = _adaptive(nn.adaptive_max_pool2d, "maxima")
adaptive_max_pool3d = _adaptive(nn.adaptive_max_pool3d, "maxima")
