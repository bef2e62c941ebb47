"""Layers of neural networks: activation, normalization, pooling, resizing.

`accumulate_dtype` is the type of the statistics of a normalization, at least float32. `padding` of
a pooling is a number, one per dimension, or all leading then all trailing ones, which are equal.
"""

from collections.abc import Callable, Sequence
from math import floor

import torch
from torch.nn import functional as nn

from hidet.errors import HidetError
from hidet.frontends.resizing import Rule, resized
from hidet.frontends.trace.recording import Ints, T, named_operator, operator, unary

hardsigmoid = unary(nn.hardsigmoid, "clamp(x / 6 + 1/2, 0, 1)")
hardswish = unary(nn.hardswish, "x * hardsigmoid(x)")
logsigmoid = unary(nn.logsigmoid, "the logarithm of the sigmoid", "logsigmoid")
relu = unary(torch.relu, "max(x, 0)")
relu6 = unary(nn.relu6, "clamp(x, 0, 6)")
sigmoid = unary(torch.sigmoid, "1 / (1 + exp(-x))")
silu = unary(nn.silu, "x * sigmoid(x)")
softsign = unary(nn.softsign, "x / (1 + abs(x))")
tanhshrink = unary(nn.tanhshrink, "x - tanh(x)")


@operator
def celu(x: T, alpha: float) -> T:
    """Return max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)."""
    return nn.celu(x, alpha)


@operator
def clip(x: T, min_val: float | None = None, max_val: float | None = None) -> T:
    """Return x clamped to an interval; either bound may be omitted."""
    return torch.clamp(x, min_val, max_val)


@operator
def gelu(x: T, approximate: bool = False) -> T:
    """Return x times the normal CDF of x, or its tanh approximation."""
    return nn.gelu(x, approximate="tanh" if approximate else "none")


@operator
def hardshrink(x: T, lambda_val: float) -> T:
    """Return x where abs(x) > lambda_val, and 0 elsewhere."""
    return nn.hardshrink(x, lambda_val)


@operator
def hardtanh(x: T, min_val: float, max_val: float, inplace: bool = False) -> T:
    """Return x clamped to an interval; `inplace` is ignored."""
    return torch.clamp(x, min_val, max_val)


@operator
def leaky_relu(x: T, alpha: float) -> T:
    """Return x where it is positive, and alpha * x elsewhere."""
    return nn.leaky_relu(x, alpha)


@operator
def logsoftmax(x: T, axis: int = 1) -> T:
    """Return the logarithm of the softmax along an axis."""
    return torch.log_softmax(x, axis)


@operator
def prelu(x: T, slope: T) -> T:
    """Return x where it is positive, and slope * x elsewhere; shapes broadcast from the right."""
    return torch.where(x >= 0, x, x * slope)


@operator
def softmax(x: T, axis: int = 1) -> T:
    """Return exp(x) / sum(exp(x)) along an axis."""
    return torch.softmax(x, axis)


@operator
def softmin(x: T, axis: int) -> T:
    """Return the softmax of -x along an axis."""
    return torch.softmax(-x, axis)


@operator
def softplus(x: T, beta: float = 1, threshold_val: float = 20) -> T:
    """Return log(1 + exp(beta * x)) / beta, and x where beta * x is above a threshold."""
    return nn.softplus(x, beta, threshold_val)


@operator
def softshrink(x: T, lambda_val: float) -> T:
    """Return sign(x) * max(abs(x) - lambda_val, 0)."""
    return nn.softshrink(x, lambda_val)


@operator
def batch_norm_infer(
    x: T, running_mean: T, running_var: T, epsilon: float = 1e-5, axis: int = 1
) -> T:
    """Return (x - mean) / sqrt(variance + epsilon), with statistics per channel along `axis`."""
    moved = x.movedim(axis, 1)
    return nn.batch_norm(moved, running_mean, running_var, eps=epsilon).movedim(1, axis)


@operator
def group_norm(
    x: T, num_groups: int, epsilon: float = 1e-5, accumulate_dtype: str = "float32"
) -> T:
    """Return x normalized over each group of channels (dimension 1) of each sample."""
    return nn.group_norm(x, num_groups, eps=epsilon)


@operator
def instance_norm(x: T, epsilon: float = 1e-5, accumulate_dtype: str = "float32") -> T:
    """Return x normalized over each channel (dimension 1) of each sample."""
    return nn.group_norm(x, x.shape[1], eps=epsilon)


@operator
def layer_norm(
    x: T, num_last_dims: int = 1, epsilon: float = 1e-5, accumulate_dtype: str = "float32"
) -> T:
    """Return x normalized over the last dimensions."""
    return nn.layer_norm(x, x.shape[x.dim() - num_last_dims :], eps=epsilon)


@operator
def lp_norm(x: T, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> T:
    """Return x / max(p-norm along a dimension, eps)."""
    return nn.normalize(x, p, dim, eps)


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


@operator
def resize2d(
    data: T,
    *,
    size: Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    method: str = "nearest",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "round_prefer_floor",
    roi: Sequence[float] | None = None,
    cubic_alpha: float = -0.75,
    cubic_exclude: bool = False,
    extrapolation_value: float | None = None,
    recompute_scale_factor: bool | None = None,
) -> T:
    """Return images [n, c, h, w] resized; see `Resize` of ONNX.

    The new height and width are given by `size`, or by `scale_factor`, their ratio to the old ones:
    a number, or two. With `recompute_scale_factor` it is computed from the sizes. The method is
    "nearest", "linear" or "cubic"; with `cubic_exclude` weights outside of the image are 0. `roi`
    is the region of "tf_crop_and_resize": top, left, bottom and right, relative to the size, and
    `extrapolation_value` is that outside of the image, 0 by default.
    """
    old = data.shape[2:]
    if (size is None) == (scale_factor is None):
        raise HidetError("resize2d takes either size or scale_factor")
    factors: Sequence[float] = []
    if scale_factor is not None:
        is_scalar = isinstance(scale_factor, int | float)
        factors = (scale_factor, scale_factor) if is_scalar else tuple(scale_factor)
        size = [floor(factor * each) for factor, each in zip(factors, old, strict=True)]
    sizes = [] if size is None else list(size)
    if recompute_scale_factor or not factors:
        factors = [new / each for new, each in zip(sizes, old, strict=True)]
    outside = 0.0 if extrapolation_value is None else extrapolation_value
    rule = Rule(
        method,
        coordinate_transformation_mode,
        rounding_method,
        cubic_alpha,
        cubic_exclude,
        extrapolation_value=outside,
    )
    return resized(data, (2, 3), sizes, factors, rule, [] if roi is None else roi)
