"""ATen operators on the elements of one tensor.

A function of the graph dialect translates the ATen operator of its name; what differs from torch in
types or properties has a function here.
"""

from functools import partial
from math import inf
from typing import Any

import torch
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from hidet.dialects import graph
from hidet.dialects.graph.base import element_type
from hidet.dialects.graph.elementwise import UnaryOp
from hidet.frontends.torch.operators.binary import clamp
from hidet.frontends.torch.operators.emitter import (
    Emitter,
    Overload,
    Table,
    holds_floats,
    overloads_of,
)

aten = torch.ops.aten


def function(op: type[UnaryOp], g: Emitter, x: SSAValue) -> SSAValue:
    """A function of each element; integers are converted if the result is floating point."""
    return g.emit(op(g.cast(x, g.element)))


def bitwise_not(g: Emitter, x: SSAValue) -> SSAValue:
    """The bitwise complement."""
    return g.emit(graph.BitwiseNotOp(x))


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


ROUNDINGS: dict[Overload, type[UnaryOp]] = {
    aten.ceil.default: graph.CeilOp,
    aten.floor.default: graph.FloorOp,
    aten.round.default: graph.RoundOp,
    aten.trunc.default: graph.TruncOp,
}

UNARY: Table = {
    **{
        target: partial(function, op)
        for op in graph.Graph.operations
        if issubclass(op, UnaryOp)
        for target in overloads_of(op.name, 1)
    },
    **{target: partial(rounding, op) for target, op in ROUNDINGS.items()},
    aten.isinf.default: is_inf,
    aten.isnan.default: is_nan,
    aten.sign.default: sign,
    aten.gelu.default: gelu,
    aten.bitwise_not.default: bitwise_not,
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
