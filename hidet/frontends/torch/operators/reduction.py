"""ATen operators that combine elements along dimensions."""

from collections.abc import Sequence
from functools import partial

import torch
from xdsl.ir import SSAValue

from hidet.dialects import graph
from hidet.dialects.graph.base import shape_of
from hidet.dialects.graph.reduction import ReductionOp
from hidet.frontends.torch.operators.emitter import Emitter, Overload, Table, unsupported

aten = torch.ops.aten


def reduce(
    op: type[ReductionOp],
    g: Emitter,
    x: SSAValue,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
) -> SSAValue:
    """A combination of elements of the type of the result; no dimensions are all of them."""
    return g.emit(op(g.cast(x, g.element), _axes(x, dim), keepdim))


def truth(
    op: type[ReductionOp],
    g: Emitter,
    x: SSAValue,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
) -> SSAValue:
    """Whether any or all elements are not 0; their type does not matter."""
    return g.emit(op(x, _axes(x, dim), keepdim))


def extremum(
    op: type[ReductionOp], g: Emitter, x: SSAValue, dim: int, keepdim: bool = False
) -> tuple[SSAValue, None]:
    """The largest or smallest elements, without their positions."""
    return g.emit(op(x, _axes(x, dim), keepdim)), None


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
        raise unsupported(f"a correction of {correction}; supported are whole numbers")
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
    """Give the dimensions to reduce, None for all; a scalar has none, whatever is asked for."""
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
    graph.AnyOp: (aten.any.default, aten.any.dim, aten.any.dims),
    graph.AllOp: (aten.all.default, aten.all.dim, aten.all.dims),
}

REDUCTION: Table = {
    **{target: partial(reduce, op) for op, group in REDUCTIONS.items() for target in group},
    **{target: partial(truth, op) for op, group in TRUTHS.items() for target in group},
    aten.max.dim: partial(extremum, graph.MaxOp),
    aten.min.dim: partial(extremum, graph.MinOp),
    aten.var.correction: variance,
    aten.var_mean.correction: variance_and_mean,
}
"""How operators that combine elements are translated."""
