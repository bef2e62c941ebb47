"""ATen operators that scale elements by statistics of them."""

from collections.abc import Sequence
from functools import partial

import torch
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from hidet.dialects import graph
from hidet.dialects.graph.base import element_type, shape_of
from hidet.frontends.torch.operators.emitter import Emitter, Table

aten = torch.ops.aten


def softmax(
    op: type[graph.SoftmaxOp | graph.LogSoftmaxOp],
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
) -> tuple[SSAValue | None, ...]:
    """The layer norm, without the statistics that its gradient would need."""
    weight = _weight_for_bias(g, weight, bias)
    rank = len(normalized_shape)
    return g.emit(graph.LayerNormOp(x, weight, bias, normalized_rank=rank, eps=eps)), None, None


def rms_norm(
    g: Emitter,
    x: SSAValue,
    normalized_shape: Sequence[int],
    weight: SSAValue | None,
    eps: float | None,
) -> tuple[SSAValue | None, ...]:
    """The root-mean-square norm, without the statistics that its gradient would need."""
    epsilon = torch.finfo(g.meta.dtype).eps if eps is None else eps
    rank = len(normalized_shape)
    return g.emit(graph.RmsNormOp(x, weight, normalized_rank=rank, eps=epsilon)), None


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
) -> tuple[SSAValue | None, ...]:
    """The group norm, without the statistics that its gradient would need."""
    weight = _weight_for_bias(g, weight, bias)
    return g.emit(graph.GroupNormOp(x, groups, weight, bias, eps=eps)), None, None


def batch_norm(
    g: Emitter,
    x: SSAValue,
    weight: SSAValue | None,
    bias: SSAValue | None,
    mean: SSAValue,
    variance: SSAValue,
    momentum: float,
    eps: float,
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """The batch norm of inference; statistics for a gradient are there, but empty."""
    weight = _weight_for_bias(g, weight, bias)
    result = g.emit(graph.BatchNormOp(x, weight, bias, mean, variance, eps=eps))
    empty = g.emit(graph.FillOp(0, TensorType(element_type(mean), [0])))
    return result, empty, empty


def _weight_for_bias(g: Emitter, weight: SSAValue | None, bias: SSAValue | None) -> SSAValue | None:
    """Give a weight of ones where there is a bias alone."""
    if weight is not None or bias is None:
        return weight
    return g.emit(graph.FillOp(1, TensorType(element_type(bias), shape_of(bias))))


NORMALIZATION: Table = {
    aten._softmax.default: partial(softmax, graph.SoftmaxOp),
    aten._log_softmax.default: partial(softmax, graph.LogSoftmaxOp),
    aten.native_layer_norm.default: layer_norm,
    aten._fused_rms_norm.default: rms_norm,
    aten.native_group_norm.default: group_norm,
    aten._native_batch_norm_legit_no_training.default: batch_norm,
}
"""How softmax and the norms are translated."""
