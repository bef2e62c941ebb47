"""Elementwise ATen operators of one tensor and of two, and selection.

Operands are cast according to torch's promotion rules, mostly to the type of the result; Python
scalars become tensors of rank 0. Operations of the graph dialect translate the ATen operators of
their name; those that differ from torch in types or properties have a function here.
"""

from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any

import torch
from torch.fx.node import map_arg
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from hidet.dialects import graph
from hidet.dialects.graph.base import GraphOp, Number, element_type, is_float
from hidet.dialects.graph.elementwise import BinaryOp, BitwiseOp, ComparisonOp, UnaryOp
from hidet.frontends.torch.dtypes import element_of
from hidet.frontends.torch.nodes import overloads_of
from hidet.frontends.torch.operators.emitter import (
    Emitter,
    Operand,
    Table,
    holds_floats,
    unsupported,
)

aten = torch.ops.aten


def function(op: Callable[..., GraphOp], g: Emitter, *operands: Operand) -> SSAValue:
    """A function of operands of the result's type; integers are converted to floating point."""
    return g.emit(op(*(g.operand(each, g.element) for each in operands)))


def logical_not(g: Emitter, x: SSAValue) -> SSAValue:
    """Whether each element is 0."""
    return g.emit(graph.BitwiseNotOp(g.cast(x, i1)))


def rounding(op: type[UnaryOp], g: Emitter, x: SSAValue) -> SSAValue:
    """A rounding of each element; the identity on integers."""
    return g.emit(op(x)) if holds_floats(x) else x


def is_nan(g: Emitter, x: SSAValue) -> SSAValue:
    """Whether each element is NaN: different from itself."""
    return g.emit(graph.NeOp(x, x)) if holds_floats(x) else g.fill(False)


def is_inf(g: Emitter, x: SSAValue) -> SSAValue:
    """Whether each element is infinite."""
    if not holds_floats(x):
        return g.fill(False)
    return g.emit(graph.EqOp(g.emit(graph.AbsOp(x)), g.scalar(inf, element_type(x))))


def sign(g: Emitter, x: SSAValue) -> SSAValue:
    """The sign; that of a boolean is the value."""
    return x if element_type(x) == i1 else g.emit(graph.SignOp(x))


def gelu(g: Emitter, x: SSAValue, *, approximate: str = "none") -> SSAValue:
    """GELU; on some CPUs oneDNN, which eager torch uses, returns NaN for infinity."""
    result = g.emit(graph.GeluOp(x, approximate))
    if approximate != "none" or not _is_for_one_dnn(g.meta):
        return result
    of_infinity = torch.nn.functional.gelu(torch.full((2,), inf, dtype=g.meta.dtype))[0].item()
    if of_infinity == inf:
        return result
    infinite = g.emit(graph.EqOp(x, g.scalar(inf, g.element)))
    return g.emit(graph.WhereOp(infinite, g.scalar(of_infinity, g.element), result))


def _is_for_one_dnn(x: torch.Tensor) -> bool:
    """Return whether eager torch computes the exact GELU of a tensor by oneDNN."""
    mkldnn: Any = torch.backends.mkldnn
    return (
        mkldnn.enabled
        and x.device.type == "cpu"
        and x.dtype in (torch.float32, torch.bfloat16)
        and x.is_contiguous()
        and x.numel() > 1
    )


def cast(g: Emitter, x: SSAValue, dtype: torch.dtype | None = None) -> SSAValue:
    """The elements in the type of the result."""
    return g.cast(x, g.element)


def view_as(g: Emitter, x: SSAValue, dtype: torch.dtype) -> SSAValue:
    """The bits of the elements in the type of the result, which has the same width."""
    return g.emit(graph.BitcastOp(x, g.element))


def identity(g: Emitter, x: SSAValue) -> SSAValue:
    """The tensor itself: programs are functional, so copies are redundant."""
    return x


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
    """A comparison in the type that torch promotes the operands to."""
    args: Any = map_arg(g.node.args[:2], lambda node: node.meta["val"])
    element = element_of(torch.result_type(*args))
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


ROUNDINGS = (graph.CeilOp, graph.FloorOp, graph.RoundOp, graph.TruncOp)

UNARY: Table = {
    **{
        target: partial(function, op)
        for op in graph.Graph.operations
        if issubclass(op, UnaryOp)
        for target in overloads_of(op.name, 1)
    },
    **{target: partial(rounding, op) for op in ROUNDINGS for target in overloads_of(op.name, 1)},
    aten.isinf.default: is_inf,
    aten.isnan.default: is_nan,
    aten.sign.default: sign,
    aten.gelu.default: gelu,
    aten.bitwise_not.default: partial(function, graph.BitwiseNotOp),
    aten.logical_not.default: logical_not,
    aten.clamp.default: clamp,
    aten._to_copy.default: cast,
    torch.ops.prims.convert_element_type.default: cast,
    aten.view.dtype: view_as,
    aten.alias.default: identity,
    aten.clone.default: identity,
    aten.detach.default: identity,
    aten.lift_fresh_copy.default: identity,
}
"""The translations of unary elementwise operators."""

DIVISIONS = (graph.FloorDivideOp, graph.FmodOp, graph.RemainderOp)

BINARY: Table = {
    **{
        target: partial(comparison if issubclass(op, ComparisonOp) else function, op)
        for op in graph.Graph.operations
        if issubclass(op, BinaryOp | ComparisonOp)
        for target in overloads_of(op.name, 2)
    },
    **{target: partial(division, op) for op in DIVISIONS for target in overloads_of(op.name, 2)},
    # Of Python's operators; other overloads have the operation's name.
    **dict.fromkeys(overloads_of("__lshift__", 2), partial(function, graph.BitwiseLeftShiftOp)),
    **dict.fromkeys(overloads_of("__rshift__", 2), partial(function, graph.BitwiseRightShiftOp)),
    aten.add.Tensor: partial(sum_with_factor, graph.AddOp),
    aten.add.Scalar: partial(sum_with_factor, graph.AddOp),
    aten.sub.Tensor: partial(sum_with_factor, graph.SubOp),
    aten.sub.Scalar: partial(sum_with_factor, graph.SubOp),
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
