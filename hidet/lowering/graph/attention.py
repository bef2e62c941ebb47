"""Decompositions of attention and of its gradients, in f32 between the matmuls."""

from collections.abc import Callable
from functools import partial
from math import inf, sqrt
from typing import Any

from xdsl.dialects.builtin import TensorType, i1, i64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from hidet.arch.chips import Arch
from hidet.dialects import graph
from hidet.dialects.graph.attention import AttentionGradientOp, ScoresOp
from hidet.dialects.graph.base import element_type, shape_of
from hidet.lowering.graph.graph_builder import GraphBuilder
from hidet.lowering.graph.memory_order import adjacent_dim
from hidet.lowering.templates import attention_config, backward_config
from hidet.lowering.templates.attention_config import fill_of


def decompose_attention(b: GraphBuilder, op: graph.ScaledDotProductAttentionOp) -> SSAValue:
    """softmax(query key^T * scale + mask) value; a query without keys yields zeros."""
    scores = _scores(b, op)
    if op.mask is None:
        return _product(b, op, b.emit(graph.SoftmaxOp(scores)), op.value)
    largest = b.emit(graph.MaxOp(scores, [-1], keepdims=True))
    weights = _zero_where_lowest(b, largest, b.emit(graph.SoftmaxOp(scores)))
    return _product(b, op, weights, op.value)


def decompose_logsumexp(b: GraphBuilder, op: graph.AttentionLogsumexpOp) -> SSAValue:
    """log(sum(exp(scores - max))) + max, with a maximum of 0 without keys."""
    scores = _scores(b, op)
    largest = b.emit(graph.MaxOp(scores, [-1], keepdims=True))
    largest = _zero_where_lowest(b, largest, largest)
    weights = b.emit(graph.ExpOp(b.emit(graph.SubOp(scores, largest))))
    total = b.emit(graph.SumOp(weights, [-1], keepdims=True))
    return b.emit(graph.AddOp(b.emit(graph.LogOp(total)), largest))


def decompose_query_gradient(b: GraphBuilder, op: graph.AttentionQueryGradientOp) -> SSAValue:
    """The gradient of the scores, times key and scale."""
    return _product(b, op, _score_gradient(b, op, _weights(b, op)), op.key)


def decompose_key_value_gradients(
    b: GraphBuilder, op: graph.AttentionKeyValueGradientsOp
) -> SSAValue:
    """The transposed gradient of the scores times query and scale; and weights^T gradient."""
    weights = _weights(b, op)
    of_key = _product(b, op, b.transposed(_score_gradient(b, op, weights)), op.query)
    of_value = _product(b, op, b.transposed(weights), op.gradient)
    both = (b.reshape(each, [1, *shape_of(each)]) for each in (of_key, of_value))
    return b.emit(graph.ConcatOp([*both], axis=0))


def has_template(op: ScoresOp, arch: Arch) -> bool:
    """Return whether an operator is computed by one kernel, which needs tensor cores.

    On a CPU, threads would have to synchronize too often.
    """
    if arch.is_cpu or op.precision.data == "fma":
        return False
    if isinstance(op, graph.ScaledDotProductAttentionOp):
        return bool(attention_config.candidates(attention_config.Attention.of(op), arch))
    return bool(backward_config.candidates(op, arch))


def _scores(b: GraphBuilder, op: ScoresOp) -> SSAValue:
    """Return query key^T * scale + mask."""
    scores = b.matmul(op.query, b.transposed(op.key), op.precision)
    scores = _scaled(b, op, scores)
    if op.causal:
        scores = _keep_where(b, _causal_mask(b, *shape_of(scores)[-2:]), scores)
    if op.mask is None:
        return scores
    if element_type(op.mask) == i1:
        return _keep_where(b, op.mask, scores, fill_of(op))
    return b.emit(graph.AddOp(scores, b.cast(op.mask, element_type(scores))))


def _scaled(b: GraphBuilder, op: ScoresOp, x: SSAValue) -> SSAValue:
    """Return a tensor times the scale of scores."""
    scale = 1 / sqrt(shape_of(op.query)[-1]) if op.scale is None else op.scale.value.data
    return b.emit(graph.MulOp(x, b.scalar(scale, element_type(x))))


def _weights(b: GraphBuilder, op: AttentionGradientOp) -> SSAValue:
    """Return exp(scores - logsumexp), zeros for a query without keys."""
    past = b.emit(graph.SubOp(_scores(b, op), op.logsumexp))
    return _zero_where_lowest(b, op.logsumexp, b.emit(graph.ExpOp(past)))


def _score_gradient(b: GraphBuilder, op: AttentionGradientOp, weights: SSAValue) -> SSAValue:
    """Return weights * (gradient value^T - delta) * scale."""
    of_weights = b.matmul(op.gradient, b.transposed(op.value), op.precision)
    past = b.emit(graph.SubOp(of_weights, op.delta))
    return _scaled(b, op, b.emit(graph.MulOp(weights, past)))


def _product(b: GraphBuilder, op: ScoresOp, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Return a matmul of operands and result in the element type of the queries."""
    element = element_type(op.query)
    return b.cast(b.matmul(b.cast(lhs, element), rhs, op.precision), element)


def _keep_where(b: GraphBuilder, mask: SSAValue, scores: SSAValue, fill: float = -inf) -> SSAValue:
    """Return scores, but another number where a boolean mask is false."""
    return b.emit(graph.WhereOp(mask, scores, b.scalar(fill, element_type(scores))))


def _causal_mask(b: GraphBuilder, queries: int, keys: int) -> SSAValue:
    """Return whether query i may attend to key j: j <= i."""
    key = b.emit(graph.IotaOp(TensorType(i64, [keys])))
    query = b.emit(graph.IotaOp(TensorType(i64, [queries, 1])))
    return b.emit(graph.LeOp(key, query))


def _zero_where_lowest(b: GraphBuilder, x: SSAValue, other: SSAValue) -> SSAValue:
    """Return the elements of a tensor, but zeros where x is -inf."""
    is_lowest = b.emit(graph.EqOp(x, b.scalar(-inf, element_type(x))))
    return b.emit(graph.WhereOp(is_lowest, b.scalar(0, element_type(other)), other))


def unless_template(
    rule: Callable[[GraphBuilder, Any], SSAValue], b: GraphBuilder, op: ScoresOp, arch: Arch
) -> SSAValue | None:
    """Apply a rule to an operator that no template computes for an architecture."""
    if not has_template(op, arch):
        return rule(b, op)
    if op.mask is not None:
        pack_mask(b, op, op.mask)
    return None


def pack_mask(b: GraphBuilder, op: ScoresOp, mask: SSAValue) -> None:
    """Store a mask whose keys are apart in memory in order, so that a thread loads adjacent ones.

    Relative position biases are often gathered with heads last. Operators with one mask share it.
    """
    owner, rank = mask.owner, len(shape_of(mask))
    if not isinstance(owner, Operation) or adjacent_dim(mask) in (None, rank - 1):
        return
    users, order = (use.operation for use in mask.uses), tuple(range(rank))
    packs = (each for each in users if isinstance(each, graph.PackOp) and each is owner.next_op)
    pack = next((each for each in packs if each.dims.get_values() == order), None)
    if pack is None:
        pack = b.insert(graph.PackOp(mask, order), InsertPoint.after(owner))
    op.operands = [pack.result if each is mask else each for each in op.operands]


ATTENTION: dict[type[Operation], Callable[..., SSAValue | None]] = {
    kind: partial(unless_template, rule)
    for kind, rule in (
        (graph.ScaledDotProductAttentionOp, decompose_attention),
        (graph.AttentionLogsumexpOp, decompose_logsumexp),
        (graph.AttentionQueryGradientOp, decompose_query_gradient),
        (graph.AttentionKeyValueGradientsOp, decompose_key_value_gradients),
    )
}
"""The decompositions of operators that no template computes for an architecture."""
