"""ATen reductions of dimensions, softmax and norms, and pools, which reduce windows."""

from collections.abc import Sequence
from functools import partial
from math import inf, prod
from typing import Any, TypeAlias

import torch
from xdsl.dialects.builtin import TensorType, i1, i64
from xdsl.ir import Attribute, SSAValue

from hidet.dialects import graph
from hidet.dialects.graph.base import computation_type, element_type, shape_of
from hidet.dialects.graph.contraction import Window, per_dimension
from hidet.dialects.graph.reduction import ReductionOp
from hidet.frontends.torch.nodes import Overload
from hidet.frontends.torch.operators.emitter import Emitter, Table, holds_floats, unsupported

aten = torch.ops.aten

Dims: TypeAlias = int | Sequence[int] | None
"""One dimension, several, or all."""


def reduce(
    op: type[ReductionOp],
    element: Attribute | None,
    g: Emitter,
    x: SSAValue,
    dim: Dims = None,
    keepdim: bool = False,
) -> SSAValue:
    """A reduction in an element type, by default that of the result; no dimensions are all."""
    return g.emit(op(g.cast(x, element or g.element), _axes(x, dim), keepdim))


def variance(
    g: Emitter,
    x: SSAValue,
    dim: Dims = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> SSAValue:
    """The variance."""
    correction = 1 if correction is None else correction
    if correction != int(correction):
        raise unsupported(f"a correction of {correction}; supported are integers")
    return g.emit(graph.VarOp(x, _axes(x, dim), keepdim, correction=int(correction)))


def variance_and_mean(
    g: Emitter, x: SSAValue, dim: Dims = None, *, keepdim: bool = False, **how: Any
) -> tuple[SSAValue, SSAValue]:
    """The variance and the mean."""
    mean = g.emit(graph.MeanOp(x, _axes(x, dim), keepdim))
    return variance(g, x, dim, keepdim=keepdim, **how), mean


def _axes(x: SSAValue, dim: Dims) -> Sequence[int] | None:
    """Return the dimensions to reduce, None for all; a scalar has none."""
    if not shape_of(x):
        return ()
    if isinstance(dim, int):
        return (dim,)
    return dim or None


REDUCTIONS: dict[type[ReductionOp], tuple[Overload, ...]] = {
    graph.SumOp: (aten.sum.dim_IntList, aten.sum.default),
    graph.MeanOp: (aten.mean.dim, aten.mean.default),
    graph.ProdOp: (aten.prod.default, aten.prod.dim_int),
    graph.MaxOp: (aten.amax.default, aten.max.default),
    graph.MinOp: (aten.amin.default, aten.min.default),
}
TRUTHS: dict[type[ReductionOp], tuple[Overload, ...]] = {
    graph.MaxOp: (aten.any.default, aten.any.dim, aten.any.dims),
    graph.MinOp: (aten.all.default, aten.all.dim, aten.all.dims),
}

REDUCTION: Table = {
    **{target: partial(reduce, op, None) for op, group in REDUCTIONS.items() for target in group},
    **{target: partial(reduce, op, i1) for op, group in TRUTHS.items() for target in group},
    aten.var.correction: variance,
    aten.var_mean.correction: variance_and_mean,
}
"""The translations of reductions."""


# ----------------------------------------------------------------------------- softmax and norms


def softmax(
    op: type[graph.SoftmaxBase],
    g: Emitter,
    x: SSAValue,
    dim: int,
    half_to_float: bool,
) -> SSAValue:
    """Softmax or its logarithm, in the type of the result."""
    x = g.cast(x, g.element)
    if shape_of(x):
        return g.emit(op(x, dim))
    return g.reshape(g.emit(op(g.reshape(x, [1]), 0)), [])


def layer_norm(
    g: Emitter,
    x: SSAValue,
    normalized_shape: Sequence[int],
    weight: SSAValue | None,
    bias: SSAValue | None,
    eps: float,
) -> tuple[SSAValue, ...]:
    """Layer norm, with mean and inverse deviation of each row."""
    rank = len(normalized_shape)
    normalized = g.emit(graph.LayerNormOp(_widened(g, x), rank, eps))
    result = _scaled(g, normalized, weight, bias)
    return result, *_mean_and_scale(g, x, _trailing(x, rank), eps, keepdims=True)


def rms_norm(
    g: Emitter,
    x: SSAValue,
    normalized_shape: Sequence[int],
    weight: SSAValue | None,
    eps: float | None,
) -> tuple[SSAValue, ...]:
    """RMS norm, with the scale of each row."""
    epsilon = torch.finfo(g.meta.dtype).eps if eps is None else eps
    rank = len(normalized_shape)
    normalized = g.emit(graph.RmsNormOp(_widened(g, x), rank, epsilon))
    result = _scaled(g, normalized, weight, None)
    wide = g.cast(x, g.statistics_element)
    squares = g.emit(graph.MeanOp(g.emit(graph.MulOp(wide, wide)), _trailing(x, rank), True))
    return result, _inverse_root(g, squares, epsilon)


def group_norm(
    g: Emitter,
    x: SSAValue,
    weight: SSAValue | None,
    bias: SSAValue | None,
    samples: int,
    channels: int,
    pixels: int,
    groups: int,
    eps: float,
) -> tuple[SSAValue, ...]:
    """A layer norm of groups, scaled per channel, with mean and inverse deviation."""
    rows = g.reshape(_widened(g, x), [samples, groups, channels // groups * pixels])
    normalized = g.reshape(g.emit(graph.LayerNormOp(rows, eps=eps)), g.shape)
    result = _scaled(g, normalized, weight, bias, _column(x))
    return result, *_mean_and_scale(g, rows, [2], eps, keepdims=False)


def batch_norm(
    g: Emitter,
    x: SSAValue,
    weight: SSAValue | None,
    bias: SSAValue | None,
    mean: SSAValue,
    variance: SSAValue,
    momentum: float,
    eps: float,
) -> tuple[SSAValue, ...]:
    """Batch norm in inference, with mean and inverse deviation.

    Scale and shift depend on parameters alone. On the CPU the statistics are empty, as in eager
    torch.
    """
    wide = computation_type(g.element)
    scale = inverse = _inverse_root(g, g.cast(variance, wide), eps)
    if weight is not None:
        scale = g.emit(graph.MulOp(g.cast(weight, wide), inverse))
    product = g.emit(graph.MulOp(g.cast(mean, wide), scale))
    if bias is None:
        shift = g.emit(graph.NegOp(product))
    else:
        shift = g.emit(graph.SubOp(g.cast(bias, wide), product))
    result = _scaled(g, g.cast(x, wide), scale, shift, _column(x))
    element = g.statistics_element
    if g.meta.device.type == "cpu":
        empty = g.emit(graph.FillOp(0, TensorType(element, [0])))
        return result, empty, empty
    return result, g.cast(mean, element), g.cast(inverse, element)


def _widened(g: Emitter, x: SSAValue) -> SSAValue:
    """Return a tensor in its computation type."""
    return g.cast(x, computation_type(element_type(x)))


def _column(x: SSAValue) -> list[int]:
    """Return the shape of parameters of the channels of x [N, C, ...] that broadcasts with it."""
    return [shape_of(x)[1], *[1] * (len(shape_of(x)) - 2)]


def _scaled(
    g: Emitter,
    x: SSAValue,
    scale: SSAValue | None,
    shift: SSAValue | None,
    shape: Sequence[int] | None = None,
) -> SSAValue:
    """Return x scaled and shifted, in the type of the result.

    `shape` is that of the parameters, by default their own.
    """
    for op, parameter in ((graph.MulOp, scale), (graph.AddOp, shift)):
        if parameter is not None:
            parameter = g.cast(parameter, element_type(x))
            parameter = parameter if shape is None else g.reshape(parameter, shape)
            x = g.emit(op(x, parameter))
    return g.cast(x, g.element)


def _mean_and_scale(
    g: Emitter, x: SSAValue, axes: Sequence[int], eps: float, *, keepdims: bool
) -> tuple[SSAValue, SSAValue]:
    """Return the mean and 1 / sqrt(variance + eps) along axes."""
    wide = g.cast(x, g.statistics_element)
    mean = g.emit(graph.MeanOp(wide, axes, keepdims))
    variance = g.emit(graph.VarOp(wide, axes, keepdims, correction=0))
    return mean, _inverse_root(g, variance, eps)


def _inverse_root(g: Emitter, x: SSAValue, eps: float) -> SSAValue:
    """Return 1 / sqrt(x + eps)."""
    return g.emit(graph.RsqrtOp(g.emit(graph.AddOp(x, g.scalar(eps, element_type(x))))))


def _trailing(x: SSAValue, rank: int) -> list[int]:
    """Return the last axes of a tensor."""
    return list(range(len(shape_of(x)) - rank, len(shape_of(x))))


NORMALIZATION: Table = {
    aten._softmax.default: partial(softmax, graph.SoftmaxOp),
    aten._log_softmax.default: partial(softmax, graph.LogSoftmaxOp),
    aten.native_layer_norm.default: layer_norm,
    aten._fused_rms_norm.default: rms_norm,
    aten.native_group_norm.default: group_norm,
    aten._native_batch_norm_legit_no_training.default: batch_norm,
}
"""The translations of softmax and the norms."""


# ----------------------------------------------------------------------------- pools


def max_pool2d(
    g: Emitter,
    x: SSAValue,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> tuple[SSAValue, SSAValue | None]:
    """Max pooling, with indices if used."""
    numbers = (kernel_size, stride or kernel_size, padding, dilation)
    window = Window(*(per_dimension(each, 2) for each in numbers), ceil_mode=ceil_mode)
    result = g.emit(graph.MaxOp(_windows(g, x, -inf, window), (-2, -1)))
    if all(user.args[1] == 0 for user in g.node.users):
        return result, None
    return result, _positions(g, x, result, window)


def _windows(g: Emitter, x: SSAValue, outside: float, window: Window) -> SSAValue:
    """Return the windows of floating-point images."""
    if not holds_floats(x):
        raise unsupported(f"pooling of {x.type}; supported are floating-point elements")
    return g.emit(graph.WindowsOp(x, outside, window))


def _positions(g: Emitter, x: SSAValue, largest: SSAValue, window: Window) -> SSAValue:
    """Return the row-major index in the image of the largest element of each window.

    It is the first of several, and NaN is the largest.
    """
    height, width = shape_of(x)[-2:]
    windows = _windows(g, x, -inf, window)  # one of its own, to fuse
    found = g.emit(graph.EqOp(windows, g.reshape(largest, [*shape_of(largest), 1, 1])))
    found = g.emit(graph.BitwiseOrOp(found, g.emit(graph.NeOp(windows, windows))))

    def places(axis: int) -> SSAValue:
        """Return the indices in the image along an axis, [count, 1, kernel, 1] or the like."""
        sizes = shape_of(windows)[-4:]
        begin = g.along(sizes, axis, -window.padding[axis], window.stride[axis])
        return g.emit(graph.AddOp(begin, g.along(sizes, 2 + axis, step=window.dilation[axis])))

    rows = g.emit(graph.MulOp(places(0), g.scalar(width, i64)))
    places_of_all = g.emit(graph.AddOp(rows, places(1)))
    candidates = g.emit(graph.WhereOp(found, places_of_all, g.scalar(height * width, i64)))
    return g.emit(graph.MinOp(candidates, (-2, -1)))


def avg_pool2d(
    g: Emitter,
    x: SSAValue,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> SSAValue:
    """Average pooling whose windows have one divisor; others are decomposed."""
    if divisor_override is None and (ceil_mode or not (count_include_pad or not any(padding))):
        raise unsupported("windows with different numbers of elements")
    numbers = (kernel_size, stride or kernel_size, padding)
    window = Window(*(per_dimension(each, 2) for each in numbers), ceil_mode=ceil_mode)
    wide = computation_type(g.element)
    windows = g.cast(_windows(g, x, 0, window), wide)
    total = g.emit(graph.SumOp(windows, (-2, -1)))
    divisor = g.scalar(divisor_override or prod(window.kernel), wide)
    return g.cast(g.emit(graph.DivOp(total, divisor)), g.element)


POOLING: Table = {
    aten.max_pool2d_with_indices.default: max_pool2d,
    aten.avg_pool2d.default: avg_pool2d,
}
"""The translations of pooling operators."""
