"""The pass `raise-attention`: raises matmul, softmax and matmul to attention."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp, bf16, f16, i1
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from hidet.arch.chips import Arch
from hidet.dialects import graph
from hidet.dialects.graph.base import element_type, shape_of
from hidet.lowering.graph.graph_builder import GraphBuilder
from hidet.lowering.single_walk import apply_rules

Mask: TypeAlias = tuple[SSAValue, bool]
"""An additive mask, or a boolean one that keeps scores or, if the flag is set, hides them."""


@dataclass(frozen=True)
class Scores:
    """The operand of a softmax: `matmul * scale`, masked."""

    product: graph.MatmulOp
    scale: float
    mask: Mask | None


def raise_attention(b: GraphBuilder, op: graph.MatmulOp) -> SSAValue | None:
    """`softmax(query key^T * scale + mask) value` of f16 or bf16 becomes one operator.

    Query and key may have scales of their own, and zeros replace weights that are NaN.
    Intermediate values must have no other users.
    """
    scores = _scores_of_rows(_weights(op.lhs))
    if scores is None or scores.product.precision != op.precision:
        return None
    elements = {element_type(each) for each in (scores.product.lhs, op.rhs, op.result)}
    if elements not in ({f16}, {bf16}):
        return None
    query, one = _unscaled(scores.product.lhs)
    keys, other = _unscaled(scores.product.rhs)
    key = _transposed(b, keys)
    mask, hides = scores.mask or (None, False)
    if mask is not None and hides:
        mask = b.emit(graph.BitwiseNotOp(mask))
    attention = graph.ScaledDotProductAttentionOp(
        query,
        key,
        op.rhs,
        mask,
        scale=scores.scale * one * other,
        precision=op.precision.data,
    )
    return b.emit(attention)


def _scores(value: SSAValue) -> Iterator[Scores]:
    """Yield the matches of a tensor as masked scores."""
    op = _source(value)
    if isinstance(op, graph.AddOp):
        for one, other in (op.operands, reversed(op.operands)):
            yield from _masked(one, (other, False))
    elif isinstance(op, graph.WhereOp):
        if _number(op.lhs) == -inf:
            yield from _masked(op.rhs, (op.condition, True))
        elif _number(op.rhs) == -inf:
            yield from _masked(op.lhs, (op.condition, False))
    else:
        yield from _masked(value, None)


def _masked(value: SSAValue, mask: Mask | None) -> Iterator[Scores]:
    """Yield the match of a tensor as a scaled matmul that a mask fits."""
    op, scale = _source(value), 1.0
    if op is not None and (power := POWERS.get(type(op))):
        number = _number(op.operands[1])
        if not number:
            return
        op, scale = _source(op.operands[0]), number**power
    if isinstance(op, graph.MatmulOp) and (mask is None or _fits(mask[0], op)):
        is_zero = mask is not None and not mask[1] and _number(mask[0]) == 0
        yield Scores(op, scale, None if is_zero else mask)


POWERS: dict[type[Operation], int] = {graph.MulOp: 1, graph.DivOp: -1}
"""The exponent of the second operand as a factor of the result."""


def _fits(mask: SSAValue, product: graph.MatmulOp) -> bool:
    """Return whether a mask has a valid type and shape for the scores of a matmul."""
    sizes, full = shape_of(mask), shape_of(product.result)
    return (
        element_type(mask) in (i1, element_type(product.lhs))
        and len(sizes) <= len(full)
        and all(size in (1, full[-n]) for n, size in enumerate(reversed(sizes), 1))
    )


def _source(value: SSAValue) -> Operation | None:
    """Return the only-used producer of a floating-point tensor, looking through casts."""
    while True:
        op = value.owner
        if not isinstance(op, Operation) or not value.has_one_use():
            return None
        if not isinstance(element_type(value), AnyFloat):
            return None
        if not isinstance(op, graph.CastOp):
            return op
        value = op.x


def _weights(value: SSAValue) -> Operation | None:
    """Return the producer of the weights, looking through zeros in the place of NaN."""
    op = _source(value)
    if not isinstance(op, graph.WhereOp) or _number(op.lhs) != 0:
        return op
    weights, test = op.rhs, op.condition.owner
    if not isinstance(test, graph.NeOp) or set(test.operands) != {weights}:
        return None
    users = {use.operation for use in weights.uses}
    is_free = users == {op, test} and op.condition.has_one_use()
    return weights.owner if is_free and isinstance(weights.owner, Operation) else None


def _unscaled(value: SSAValue) -> tuple[SSAValue, float]:
    """Return the operand of a matmul without a factor, and the factor."""
    op = _source(value)
    if isinstance(op, graph.MulOp) and op.lhs.type == value.type and (number := _number(op.rhs)):
        return op.lhs, number
    return value, 1.0


def _scores_of_rows(op: Operation | None) -> Scores | None:
    """Return the scores of a softmax along the last dimension."""
    if not isinstance(op, graph.SoftmaxOp) or op.axis.value.data != len(shape_of(op.x)) - 1:
        return None
    return next(_scores(op.x), None)


def _number(value: SSAValue) -> float | None:
    op = value.owner
    return float(op.value.value.data) if isinstance(op, graph.FillOp) else None


def _transposed(b: GraphBuilder, matrix: SSAValue) -> SSAValue:
    """Return transposed matrices, or the operand if they are already a transposed view."""
    *batch, rows, columns = range(len(shape_of(matrix)))
    swapped = [*batch, columns, rows]
    op = matrix.owner
    if isinstance(op, graph.PermuteOp) and list(op.dims.get_values()) == swapped:
        return op.x
    return b.permute(matrix, swapped)


@dataclass(frozen=True)
class RaiseAttentionPass(ModulePass):
    """Raise attention that is written as matmuls, a softmax and a mask.

    Applies to f16 and bf16 on GPUs. Scores may be scaled, and masked by an added tensor or by -inf
    under a condition. A fully masked row then yields zeros instead of NaN, for which a model may
    test: so torch exports attention to ONNX. Scores and weights are no longer rounded to half
    precision. `decompose-graph` decomposes what no template computes.
    """

    name = "raise-attention"

    arch: str = "sm_90a"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite all functions of a module."""
        if not Arch.parse(self.arch).is_cpu:
            apply_rules(op.body, GraphBuilder, {graph.MatmulOp: raise_attention})
