"""The pass `raise-attention`: raises matmul, softmax and matmul to attention."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, prod

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp, bf16, f16, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from hidet.arch.chips import Arch
from hidet.dialects import graph
from hidet.dialects.graph.base import element_type, shape_of
from hidet.dialects.graph.elementwise import BinaryOp
from hidet.lowering.graph.graph_builder import GraphBuilder, transposed_view
from hidet.lowering.single_walk import apply_rules


@dataclass(frozen=True)
class Mask:
    """A mask of scores: a tensor that is added, or booleans.

    Attributes:
        value: the mask; its dimensions are those of the scores, or 1.
        shape: the shape of the scores where it is applied.
        factor: the factor of what is added.
        hides: whether booleans hide scores instead of keeping them.
        fill: the scores that are hidden.
    """

    value: SSAValue
    shape: tuple[int, ...]
    factor: float = 1.0
    hides: bool = False
    fill: float = -inf


@dataclass(frozen=True)
class Scores:
    """The operand of a softmax: `matmul * scale`, masked; its batch may have been reshaped."""

    product: graph.MatmulOp
    scale: float
    masks: tuple[Mask, ...]


def raise_attention(b: GraphBuilder, op: graph.MatmulOp) -> SSAValue | None:
    """`softmax(query key^T * scale + mask) value` of f16 or bf16 becomes one operator.

    Query and key may have scales of their own, and be widened, and zeros replace weights that are
    NaN. Intermediate values must have no other users.
    """
    softmax, element = _weights(op.lhs), element_type(op.result)
    if not isinstance(softmax, graph.SoftmaxOp) or element not in (f16, bf16):
        return None
    full = shape_of(softmax.x)
    if softmax.axis.value.data != len(full) - 1:
        return None
    shapes = ((each, _shape_for(each, full, element)) for each in _scores(softmax.x))
    scores, shape = next((found for found in shapes if found[1] is not None), (None, None))
    if scores is None or shape is None:
        return None
    product = scores.product
    query, one = _unscaled(_narrow(product.lhs, element))
    keys, other = _unscaled(_narrow(product.rhs, element))
    view = transposed_view(keys)
    key = _narrow(keys if view is None else view, element)
    inner, outer = shape_of(product.result), shape_of(op.lhs)
    matrices = (query, inner), (key, inner), (op.rhs, outer)
    if any(element_type(x) != element or not _has_batch(x, old, shape) for x, old in matrices):
        return None
    if product.precision != op.precision and element_type(product.lhs) == element:
        return None
    attention = graph.ScaledDotProductAttentionOp(
        _with_batch(b, query, inner, shape),
        _with_batch(b, b.transposed(key) if view is None else key, inner, shape),
        _with_batch(b, op.rhs, outer, shape),
        _mask_of(b, scores.masks, shape, element),
        scale=scores.scale * one * other,
        fill=next((mask.fill for mask in scores.masks if mask.fill > -inf), None),
        precision=op.precision.data,
    )
    return b.reshape(b.emit(attention), shape_of(op.result))


def _scores(value: SSAValue, scale: float = 1.0, masks: tuple[Mask, ...] = ()) -> Iterator[Scores]:
    """Yield the matches of a tensor as scores that are masked and scaled further."""
    op, shape = _source(value), shape_of(value)
    match op:
        case graph.MatmulOp():
            yield Scores(op, scale, masks)
        case graph.ReshapeOp() if shape_of(op.x)[-2:] == shape[-2:]:
            yield from _scores(op.x, scale, masks)
        case graph.MulOp() | graph.DivOp() if (factor := _factor(op)) and shape_of(op.lhs) == shape:
            yield from _scores(op.lhs, scale * factor, masks)
        case graph.AddOp():
            for one, other in (op.operands, reversed(op.operands)):
                if shape_of(one) == shape:
                    added = () if _number(other) == 0 else (Mask(other, shape, scale),)
                    yield from _scores(one, scale, (*masks, *added))
        case graph.WhereOp() if scale > 0:
            for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                fill = _number(other)
                if shape_of(one) == shape and fill is not None and fill < inf:
                    mask = Mask(op.condition, shape, hides=one is op.rhs, fill=fill * scale)
                    yield from _scores(one, scale, (*masks, mask))
        case _:
            pass


def _factor(op: BinaryOp) -> float | None:
    """Return the number that the first operand is multiplied by, if it is one."""
    number = _number(op.rhs)
    return 1 / number if number and type(op) is graph.DivOp else number


def _shape_for(scores: Scores, shape: Sequence[int], element: Attribute) -> Sequence[int] | None:
    """Return the shape of a softmax, or another of its scores, with a batch that all masks fit."""
    if len(scores.masks) > 1 and any(mask.fill > -inf for mask in scores.masks):
        return None
    shapes = [shape, *(mask.shape for mask in scores.masks)]
    fit = (each for each in shapes if all(_fits(mask, each, element) for mask in scores.masks))
    return next(fit, None)


def _fits(mask: Mask, shape: Sequence[int], element: Attribute) -> bool:
    """Return whether a mask has a valid type, and is one of scores of this shape, too."""
    is_valid = element_type(_narrow(mask.value, element)) in (i1, element)
    return is_valid and _reshaped(mask, shape) is not None


def _reshaped(mask: Mask, shape: Sequence[int]) -> list[int] | None:
    """Return the shape of a mask for scores of this shape, None if there is none.

    Of the dimensions of the batch that are merged or split, it has all or a single element.
    """
    sizes = shape_of(mask.value)
    if mask.shape == shape:
        return [*sizes]
    old, new = mask.shape[:-2], shape[:-2]
    batch, result = [1] * (len(mask.shape) - len(sizes)) + [*sizes[:-2]], list[int]()
    for one, other in _same_dims(old, new):
        if prod(batch[one]) == 1:
            result += [1] * len(new[other])
        elif batch[one] == [*old[one]]:
            result += new[other]
        else:
            return None
    return [*result, *sizes[-2:]]


def _same_dims(one: Sequence[int], other: Sequence[int]) -> Iterator[tuple[slice, slice]]:
    """Yield the dimensions of two shapes of as many elements that are the same, merged or split."""
    i = j = 0
    while i < len(one) and j < len(other) and 0 not in one:
        end, stop = i + 1, j + 1
        while (size := prod(one[i:end])) != (length := prod(other[j:stop])):
            end, stop = end + (size < length), stop + (size > length)
        yield slice(i, end), slice(j, stop)
        i, j = end, stop
    yield slice(i, None), slice(j, None)


def _has_batch(matrix: SSAValue, old: Sequence[int], new: Sequence[int]) -> bool:
    """Return whether a matrix of scores of one shape is, reshaped, one of those of another."""
    return old == new or shape_of(matrix)[:-2] == old[:-2]


def _with_batch(
    b: GraphBuilder, matrix: SSAValue, old: Sequence[int], new: Sequence[int]
) -> SSAValue:
    """Return a matrix of scores of one shape as one of those of another."""
    return matrix if old == new else b.reshape(matrix, [*new[:-2], *shape_of(matrix)[-2:]])


def _mask_of(
    b: GraphBuilder, masks: Sequence[Mask], shape: Sequence[int], element: Attribute
) -> SSAValue | None:
    """Return one mask for several, None for none."""
    added = kept = None
    for mask in reversed(masks):
        value, sizes = _narrow(mask.value, element), _reshaped(mask, shape)
        assert sizes is not None, "a mask that fits"
        value = b.reshape(value, sizes)
        if element_type(value) == i1:
            value = b.emit(graph.BitwiseNotOp(value)) if mask.hides else value
            kept = value if kept is None else b.emit(graph.BitwiseAndOp(kept, value))
        else:
            if mask.factor != 1:
                value = b.emit(graph.MulOp(value, b.scalar(mask.factor, element)))
            added = value if added is None else b.emit(graph.AddOp(added, value))
    if added is None or kept is None:
        return added if kept is None else kept
    return b.emit(graph.WhereOp(kept, added, b.scalar(-inf, element)))


def _narrow(value: SSAValue, element: Attribute) -> SSAValue:
    """Return what a floating-point tensor has been widened from, if that has the element type."""
    op = value.owner
    if not isinstance(op, graph.CastOp) or not isinstance(element_type(value), AnyFloat):
        return value
    return op.x if element_type(op.x) == element else value


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
    """Return the producer of the weights: of a reshaped batch, under zeros in the place of NaN."""
    op = _source(value)
    if isinstance(op, graph.ReshapeOp) and shape_of(op.x)[-2:] == shape_of(value)[-2:]:
        op = _source(op.x)
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


def _number(value: SSAValue) -> float | None:
    op = value.owner
    return float(op.value.value.data) if isinstance(op, graph.FillOp) else None


@dataclass(frozen=True)
class RaiseAttentionPass(ModulePass):
    """Raise attention that is written as matmuls, a softmax and a mask.

    Applies to f16 and bf16 on GPUs. Scores may be scaled, and masked by tensors that are added and
    by -inf under conditions, which become one mask, or by another number under one condition; their
    batch may be reshaped. A row that -inf masks as a whole yields zeros instead of NaN, for which a
    model may test: so torch exports attention to ONNX. Scores and weights are no longer rounded to
    half precision. `decompose-graph` decomposes what no template computes.
    """

    name = "raise-attention"

    arch: str = "sm_90a"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite all functions of a module."""
        if not Arch.parse(self.arch).is_cpu:
            apply_rules(op.body, GraphBuilder, {graph.MatmulOp: raise_attention})
