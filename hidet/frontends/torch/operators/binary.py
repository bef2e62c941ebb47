"""Binary elementwise ATen operators, and selection.

Operands are cast according to torch's promotion rules, mostly to the type of the result; Python
scalars become tensors of rank 0. Operations of the graph dialect translate the ATen operators of
their name; those that differ from torch in types or properties have a function here.
"""

from functools import partial

import torch
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from hidet.dialects import graph
from hidet.dialects.graph.base import Number, is_float
from hidet.dialects.graph.elementwise import BinaryOp, BitwiseOp, ComparisonOp
from hidet.frontends.torch.operators.emitter import (
    Emitter,
    Operand,
    Overload,
    Table,
    overloads_of,
    unsupported,
)

aten = torch.ops.aten


def function(op: type[BinaryOp], g: Emitter, lhs: Operand, rhs: Operand) -> SSAValue:
    """A function of operands of the result's type."""
    return g.emit(op(g.operand(lhs, g.element), g.operand(rhs, g.element)))


def division(op: type[BinaryOp], g: Emitter, lhs: Operand, rhs: Operand) -> SSAValue:
    """A division or remainder, with a checked divisor."""
    return g.emit(op(g.operand(lhs, g.element), g.divisor(rhs)))


def sum_with_factor(
    op: type[BinaryOp], g: Emitter, lhs: Operand, rhs: Operand, alpha: Number = 1
) -> SSAValue:
    """A sum or difference, whose right operand may be scaled."""
    right = g.operand(rhs, g.element)
    if alpha != 1:
        right = g.emit(graph.MulOp(right, g.scalar(alpha, g.element)))
    return g.emit(op(g.operand(lhs, g.element), right))


def divide(g: Emitter, lhs: Operand, rhs: Operand, *, rounding_mode: str | None = None) -> SSAValue:
    """A quotient: exact, rounded down, or rounded towards 0."""
    left, right = g.operand(lhs, g.element), g.divisor(rhs)
    if rounding_mode == "floor":
        return g.emit(graph.FloorDivideOp(left, right))
    if rounding_mode is None:
        return g.emit(graph.DivOp(left, right))
    if is_float(g.element):
        return g.emit(graph.TruncOp(g.emit(graph.DivOp(left, right))))
    # Subtracting the remainder makes the division exact.
    left = g.emit(graph.SubOp(left, g.emit(graph.FmodOp(left, right))))
    return g.emit(graph.FloorDivideOp(left, right))


def comparison(op: type[ComparisonOp], g: Emitter, lhs: Operand, rhs: Operand) -> SSAValue:
    """A comparison in the promoted type."""
    element = g.promoted_element(0, 1)
    return g.emit(op(g.operand(lhs, element), g.operand(rhs, element)))


def logical(op: type[BitwiseOp], g: Emitter, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """A logical operator; nonzero numbers are true."""
    return g.emit(op(g.cast(lhs, i1), g.cast(rhs, i1)))


def where(g: Emitter, condition: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """A selection between two tensors."""
    return g.emit(graph.WhereOp(condition, g.cast(lhs, g.element), g.cast(rhs, g.element)))


def clamp(
    g: Emitter, x: SSAValue, low: Operand | None = None, high: Operand | None = None
) -> SSAValue:
    """Clamping between two numbers or tensors."""
    if g.element == i1 and not all(isinstance(each, SSAValue | None) for each in (low, high)):
        raise unsupported("booleans are not clamped between numbers")
    result = g.cast(x, g.element)
    for op, bound in ((graph.MaximumOp, low), (graph.MinimumOp, high)):
        if bound is not None:
            result = g.emit(op(result, g.operand(bound, g.element)))
    return result


SHIFTS: dict[type[BinaryOp], str] = {
    graph.BitwiseLeftShiftOp: "__lshift__",
    graph.BitwiseRightShiftOp: "__rshift__",
}
"""The ATen names of Python's operators; other overloads have the operation's name."""

DIVISIONS = (graph.FloorDivideOp, graph.FmodOp, graph.RemainderOp)

SUMS: dict[type[BinaryOp], tuple[Overload, ...]] = {
    graph.AddOp: (aten.add.Tensor, aten.add.Scalar),
    graph.SubOp: (aten.sub.Tensor, aten.sub.Scalar),
}

BINARY: Table = {
    **{
        target: partial(comparison if issubclass(op, ComparisonOp) else function, op)
        for op in graph.Graph.operations
        if issubclass(op, BinaryOp | ComparisonOp)
        for target in overloads_of(op.name, 2)
    },
    **{target: partial(division, op) for op in DIVISIONS for target in overloads_of(op.name, 2)},
    **{target: partial(sum_with_factor, op) for op, targets in SUMS.items() for target in targets},
    **{
        getattr(getattr(aten, name), overload): partial(function, op)
        for op, name in SHIFTS.items()
        for overload in ("Tensor", "Scalar")
    },
    aten.div.Tensor: divide,
    aten.div.Scalar: divide,
    aten.div.Tensor_mode: divide,
    aten.div.Scalar_mode: divide,
    aten.logical_and.default: partial(logical, graph.BitwiseAndOp),
    aten.logical_or.default: partial(logical, graph.BitwiseOrOp),
    aten.logical_xor.default: partial(logical, graph.BitwiseXorOp),
    aten.where.self: where,
    aten.clamp.Tensor: clamp,
}
"""The translations of binary elementwise operators."""
