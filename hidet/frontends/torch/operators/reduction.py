"""ATen reductions."""

from collections.abc import Sequence
from functools import partial
from math import prod

import torch
from xdsl.dialects.builtin import TensorType, i1, i64
from xdsl.ir import Attribute, SSAValue

from hidet.dialects import graph
from hidet.dialects.graph.base import shape_of
from hidet.dialects.graph.reduction import ReductionOp
from hidet.frontends.torch.operators.emitter import (
    Emitter,
    Overload,
    Table,
    holds_floats,
    unsupported,
)

aten = torch.ops.aten


def reduce(
    op: type[ReductionOp],
    element: Attribute | None,
    g: Emitter,
    x: SSAValue,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
) -> SSAValue:
    """A reduction in an element type, by default that of the result; no dimensions are all."""
    return g.emit(op(g.cast(x, element or g.element), _axes(x, dim), keepdim))


def extremum(
    op: type[ReductionOp], g: Emitter, x: SSAValue, dim: int, keepdim: bool = False
) -> tuple[SSAValue, SSAValue]:
    """The largest or smallest elements, and their indices."""
    return g.emit(op(x, _axes(x, dim), keepdim)), position(op, g, x, dim, keepdim)


def position(
    op: type[ReductionOp], g: Emitter, x: SSAValue, dim: int | None = None, keepdim: bool = False
) -> SSAValue:
    """The index of the first largest or smallest element; NaN counts as either."""
    if not shape_of(x):
        return g.scalar(0, i64)
    if dim is None:
        flat = g.reshape(x, [prod(shape_of(x))])
        return g.reshape(position(op, g, flat, 0), g.shape)
    sizes = shape_of(x)
    dim %= len(sizes)
    found = g.emit(graph.EqOp(x, g.emit(op(x, (dim,), keepdims=True))))
    if holds_floats(x):
        found = g.emit(graph.BitwiseOrOp(found, g.emit(graph.NeOp(x, x))))
    along = [size if axis == dim else 1 for axis, size in enumerate(sizes)]
    positions = g.emit(graph.IotaOp(TensorType(i64, along), dim=dim))
    candidates = g.emit(graph.WhereOp(found, positions, g.scalar(sizes[dim], i64)))
    return g.emit(graph.MinOp(candidates, (dim,), keepdim))


def variance(
    g: Emitter,
    x: SSAValue,
    dim: int | Sequence[int] | None = None,
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
    g: Emitter,
    x: SSAValue,
    dim: int | Sequence[int] | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> tuple[SSAValue, SSAValue]:
    """The variance and the mean."""
    mean = g.emit(graph.MeanOp(x, _axes(x, dim), keepdim))
    return variance(g, x, dim, correction=correction, keepdim=keepdim), mean


def _axes(x: SSAValue, dim: int | Sequence[int] | None) -> Sequence[int] | None:
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
    aten.max.dim: partial(extremum, graph.MaxOp),
    aten.min.dim: partial(extremum, graph.MinOp),
    aten.argmax.default: partial(position, graph.MaxOp),
    aten.argmin.default: partial(position, graph.MinOp),
    aten.var.correction: variance,
    aten.var_mean.correction: variance_and_mean,
}
"""The translations of reductions."""
