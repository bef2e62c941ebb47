"""The pass `raise-attention`: products around a softmax are attention."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp, bf16, f16, i1
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from hidet.arch.chips import Arch
from hidet.dialects import graph
from hidet.dialects.graph.base import element_type, shape_of
from hidet.lowering.single_walk import rewrite_once
from hidet.rewriting.locations import location_setter

Mask: TypeAlias = tuple[SSAValue, bool]
"""What is added to scores, or says which ones count, or (then True) which ones do not."""


@dataclass(frozen=True)
class Scores:
    """Scores as they come into a softmax: `product * scale`, masked."""

    product: graph.MatmulOp
    scale: float
    mask: Mask | None


class RaiseAttention(RewritePattern):
    """`softmax(query key^T * scale + mask) value`, between halves, becomes one operator.

    Nothing else may read what stands between the products.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.MatmulOp, rewriter: PatternRewriter) -> None:
        """Rewrite one product, if its left factor is a softmax of scores."""
        scores = _scores_of_rows(_source(op.lhs))
        if scores is None or scores.product.precision != op.precision:
            return
        elements = {element_type(each) for each in (scores.product.lhs, op.rhs, op.result)}
        if elements not in ({f16}, {bf16}):
            return
        b = Builder(InsertPoint.before(op))
        b.operation_insertion_handler.append(location_setter(op.location))
        attention = graph.ScaledDotProductAttentionOp(
            scores.product.lhs,
            _transposed(b, scores.product.rhs),
            op.rhs,
            None if scores.mask is None else _mask(b, *scores.mask),
            scale=scores.scale,
            precision=op.precision.data,
        )
        rewriter.replace(op, attention)


def _scores(value: SSAValue) -> Iterator[Scores]:
    """Give the ways to read a tensor as masked scores."""
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
    """Give the way to read a tensor as a product, scaled or not, that a mask fits."""
    op, scale = _source(value), 1.0
    if op is not None and (power := POWERS.get(type(op))):
        number = _number(op.operands[1])
        if not number:
            return
        op, scale = _source(op.operands[0]), number**power
    if isinstance(op, graph.MatmulOp) and (mask is None or _fits(mask[0], op)):
        yield Scores(op, scale, mask)


POWERS: dict[type[Operation], int] = {graph.MulOp: 1, graph.DivOp: -1}
"""To which power the second operand is a factor of the result."""


def _fits(mask: SSAValue, product: graph.MatmulOp) -> bool:
    """Return whether attention takes a mask of such type and shape for the scores of a product."""
    sizes, full = shape_of(mask), shape_of(product.result)
    return (
        element_type(mask) in (i1, element_type(product.lhs))
        and len(sizes) <= len(full)
        and all(size in (1, full[-n]) for n, size in enumerate(reversed(sizes), 1))
    )


def _source(value: SSAValue) -> Operation | None:
    """Return what computes a tensor of floats, apart from casts, if nothing else reads it."""
    while True:
        op = value.owner
        if not isinstance(op, Operation) or not value.has_one_use():
            return None
        if not isinstance(element_type(value), AnyFloat):
            return None
        if not isinstance(op, graph.CastOp):
            return op
        value = op.x


def _scores_of_rows(op: Operation | None) -> Scores | None:
    """Return the scores of a softmax along the last dimension."""
    if not isinstance(op, graph.SoftmaxOp) or op.axis.value.data != len(shape_of(op.x)) - 1:
        return None
    return next(_scores(op.x), None)


def _number(value: SSAValue) -> float | None:
    """Return the number that all elements of a tensor are."""
    op = value.owner
    return float(op.value.value.data) if isinstance(op, graph.FillOp) else None


def _transposed(b: Builder, matrix: SSAValue) -> SSAValue:
    """Return matrices with rows for columns, where these are a view of such ones, those."""
    *batch, rows, columns = range(len(shape_of(matrix)))
    swapped = [*batch, columns, rows]
    op = matrix.owner
    if isinstance(op, graph.PermuteOp) and list(op.dims.get_values()) == swapped:
        return op.x
    return b.insert(graph.PermuteOp(matrix, swapped)).result


def _mask(b: Builder, mask: SSAValue, hides: bool) -> SSAValue:
    """Return a mask as attention takes it."""
    return b.insert(graph.LogicalNotOp(mask)).result if hides else mask


@dataclass(frozen=True)
class RaiseAttentionPass(ModulePass):
    """Find attention that is written as products, a softmax and what is between them.

    Of f16 and bf16, on a GPU. Scores may be scaled, and masked: by a tensor that is added, or by
    -inf where a condition says so. A row with nothing but -inf then gives zeros, not NaN. Scores
    and weights are not rounded to halves any more. `decompose-graph` takes apart again what no
    template computes.

    Args:
        arch: the machine that kernels are for: `cpu`, `sm_90a`, ...
    """

    name = "raise-attention"

    arch: str = "sm_90a"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite all functions of a module."""
        if not Arch.parse(self.arch).is_cpu:
            rewrite_once(op.body, {graph.MatmulOp: RaiseAttention()})
