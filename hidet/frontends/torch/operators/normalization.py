"""ATen normalizations: softmax and norms."""

from collections.abc import Sequence
from functools import partial

import torch
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from hidet.dialects import graph
from hidet.dialects.graph.base import computation_type, element_type, shape_of
from hidet.frontends.torch.operators.emitter import Emitter, Table

aten = torch.ops.aten


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
    variance = g.emit(graph.VarOp(wide, axes, keepdims, correction=0))
    return g.emit(graph.MeanOp(wide, axes, keepdims)), _inverse_root(g, variance, eps)


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
