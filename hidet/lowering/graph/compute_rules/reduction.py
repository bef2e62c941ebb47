"""Rules of reductions: a grid with a `compute.reduce`; two for a variance."""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from hidet.dialects import graph
from hidet.dialects.compute import ReduceKind
from hidet.dialects.graph.base import computation_type, element_type, shape_of
from hidet.dialects.graph.reduction import ReductionOp
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder, Indices, convert
from hidet.lowering.single_walk import Rule


class Axes:
    """The dimensions of a tensor, partitioned into reduced axes and kept dimensions."""

    def __init__(self, shape: Sequence[int], axes: Sequence[int]) -> None:
        self.shape = tuple(shape)
        self.axes = tuple(axes)
        self.kept = [dim for dim in range(len(shape)) if dim not in axes]
        self.outer = [shape[dim] for dim in self.kept]
        self.extents = [shape[axis] for axis in axes]
        self.count = prod(self.extents)

    def merge(self, outer: Sequence[SSAValue], inner: Sequence[SSAValue]) -> list[SSAValue]:
        """Return the indices of an element from the kept and the reduced ones."""
        by_dim = dict(zip(self.kept, outer, strict=True)) | dict(zip(self.axes, inner, strict=True))
        return [by_dim[dim] for dim in range(len(self.shape))]

    def outer_of(self, indices: Sequence[SSAValue]) -> list[SSAValue]:
        """Return the kept indices of an element."""
        return [indices[dim] for dim in self.kept]


def reciprocal(count: int) -> float:
    """Return 1 / count; infinity for 0, so that an empty mean is NaN as in torch."""
    return 1 / count if count else float("inf")


def axes_of(op: ReductionOp) -> Axes:
    """Return the axes of a reduction."""
    return Axes(shape_of(op.x), op.axes.get_values())


def over_result(
    b: GridBuilder, op: ReductionOp, scalar_of: Callable[[Indices], SSAValue]
) -> SSAValue:
    """Build the grid of the result, whose scalar depends on the kept indices."""
    axes = axes_of(op)
    return b.result_of(op, lambda at: scalar_of(axes.outer_of(at) if bool(op.keepdims) else at))


def total(b: GridBuilder, kind: ReduceKind, x: SSAValue, axes: Axes, outer: Indices) -> SSAValue:
    """Reduce x along the axes."""
    return b.reduce(kind, axes.extents, lambda inner: b.read(x, axes.merge(outer, inner)))


def reduction(kind: ReduceKind, b: GridBuilder, op: ReductionOp) -> SSAValue:
    """One grid with one reduction."""
    return over_result(b, op, lambda outer: total(b, kind, op.x, axes_of(op), outer))


def truth(kind: ReduceKind, b: GridBuilder, op: ReductionOp) -> SSAValue:
    """The maximum or minimum of whether elements are not 0."""
    axes = axes_of(op)

    def scalar_of(outer: Indices) -> SSAValue:
        return b.reduce(
            kind,
            axes.extents,
            lambda inner: convert(b, b.read(op.x, axes.merge(outer, inner)), i1),
        )

    return over_result(b, op, scalar_of)


def scaled(b: GridBuilder, x: SSAValue, factor: float) -> SSAValue:
    """Return a scalar times a constant."""
    return b.apply(arith.MulfOp, x, b.constant(factor, x.type))


def mean_at(b: GridBuilder, x: SSAValue, axes: Axes, outer: Indices) -> SSAValue:
    """Return the mean of x along the axes: the sum times 1 / count."""
    return scaled(b, total(b, ReduceKind.ADD, x, axes, outer), reciprocal(axes.count))


def mean_grid(b: GridBuilder, x: SSAValue, axes: Axes) -> SSAValue:
    """Build the means of x along the axes in the computation type, without reduced dimensions."""
    kind = computation_type(element_type(x))
    return b.grid(axes.outer, kind, lambda outer: mean_at(b, x, axes, outer))


def squares_at(b: GridBuilder, x: SSAValue, mean: SSAValue, axes: Axes, outer: Indices) -> SSAValue:
    """Return the sum of squared deviations from the mean."""

    def square(inner: Indices) -> SSAValue:
        element = b.read(x, axes.merge(outer, inner))
        distance = b.apply(arith.SubfOp, element, b.read(mean, outer))
        return b.apply(arith.MulfOp, distance, distance)

    return b.reduce(ReduceKind.ADD, axes.extents, square)


def mean(b: GridBuilder, op: ReductionOp) -> SSAValue:
    """One grid: the sum times 1 / count."""
    return over_result(b, op, lambda outer: mean_at(b, op.x, axes_of(op), outer))


def variance(b: GridBuilder, op: graph.VarOp) -> SSAValue:
    """Two grids: the mean, then squared deviations times 1 / (count - correction)."""
    axes = axes_of(op)
    means = mean_grid(b, op.x, axes)
    factor = reciprocal(max(axes.count - op.correction.value.data, 0))

    def scalar_of(outer: Indices) -> SSAValue:
        return scaled(b, squares_at(b, op.x, means, axes, outer), factor)

    return over_result(b, op, scalar_of)


RULES: dict[type[Operation], Rule[GridBuilder]] = {
    graph.AllOp: partial(truth, ReduceKind.MIN),
    graph.AnyOp: partial(truth, ReduceKind.MAX),
    graph.MaxOp: partial(reduction, ReduceKind.MAX),
    graph.MeanOp: mean,
    graph.MinOp: partial(reduction, ReduceKind.MIN),
    graph.ProdOp: partial(reduction, ReduceKind.MUL),
    graph.SumOp: partial(reduction, ReduceKind.ADD),
    graph.VarOp: variance,
}
