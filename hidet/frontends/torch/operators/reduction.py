"""ATen reductions."""

from collections.abc import Sequence
from functools import partial

import torch
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue

from hidet.dialects import graph
from hidet.dialects.graph.base import shape_of
from hidet.dialects.graph.reduction import ReductionOp
from hidet.frontends.torch.operators.emitter import Emitter, Overload, Table, unsupported

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
    aten.var.correction: variance,
    aten.var_mean.correction: variance_and_mean,
}
"""The translations of reductions."""
