"""Rules of softmax and norms: a grid per row statistic, then an elementwise grid.

Intermediate grids have the computation type and no reduced dimensions, so that all of them share
the same rows and can be fused.
"""

from xdsl.dialects import arith, math
from xdsl.ir import Operation, SSAValue

from hidet.dialects import graph
from hidet.dialects.compute import ReduceKind
from hidet.dialects.graph.base import computation_type, element_type, shape_of
from hidet.dialects.graph.normalization import SoftmaxBase, TrailingNormOp
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder, Indices, convert
from hidet.lowering.graph.compute_rules.reduction import (
    Axes,
    mean_grid,
    reciprocal,
    scaled,
    squares_at,
    total,
)
from hidet.lowering.single_walk import Rule

# ----------------------------------------------------------------------------- softmax


def softmax_axes(op: SoftmaxBase) -> Axes:
    """Return the axis of a softmax."""
    return Axes(shape_of(op.x), (op.axis.value.data,))


def largest(b: GridBuilder, op: SoftmaxBase) -> SSAValue:
    """Return the maximum of each row."""
    axes, kind = softmax_axes(op), computation_type(element_type(op.x))
    return b.grid(axes.outer, kind, lambda outer: total(b, ReduceKind.MAX, op.x, axes, outer))


def distance_at(
    b: GridBuilder, x: SSAValue, statistic: SSAValue, axes: Axes, indices: Indices
) -> SSAValue:
    """Return the difference of an element and a statistic of its row."""
    return b.apply(arith.SubfOp, b.read(x, indices), b.read(statistic, axes.outer_of(indices)))


def softmax(b: GridBuilder, op: graph.SoftmaxOp) -> SSAValue:
    """Four grids: row maximum, exp of the difference, row sum, quotient."""
    axes, found = softmax_axes(op), op.result_type
    kind = computation_type(found.element_type)
    top = largest(b, op)
    powers = b.grid(
        axes.shape,
        kind,
        lambda indices: b.apply(math.ExpOp, distance_at(b, op.x, top, axes, indices)),
    )
    sums = b.grid(axes.outer, kind, lambda outer: total(b, ReduceKind.ADD, powers, axes, outer))
    return b.grid(
        axes.shape,
        found.element_type,
        lambda indices: b.apply(
            arith.DivfOp, b.read(powers, indices), b.read(sums, axes.outer_of(indices))
        ),
    )


def log_softmax(b: GridBuilder, op: graph.LogSoftmaxOp) -> SSAValue:
    """Three grids: row maximum, log of the sum of exp, the difference to both."""
    axes, found = softmax_axes(op), op.result_type
    top = largest(b, op)

    def log_sum(outer: Indices) -> SSAValue:
        def power(inner: Indices) -> SSAValue:
            return b.apply(math.ExpOp, distance_at(b, op.x, top, axes, axes.merge(outer, inner)))

        return b.apply(math.LogOp, b.reduce(ReduceKind.ADD, axes.extents, power))

    logs = b.grid(axes.outer, computation_type(found.element_type), log_sum)

    def scalar_at(indices: Indices) -> SSAValue:
        distance = distance_at(b, op.x, top, axes, indices)
        return b.apply(arith.SubfOp, distance, b.read(logs, axes.outer_of(indices)))

    return b.grid(axes.shape, found.element_type, scalar_at)


# ----------------------------------------------------------------------------- norms


def trailing_axes(op: TrailingNormOp) -> Axes:
    """Return the normalized dimensions."""
    shape = shape_of(op.x)
    return Axes(shape, tuple(range(len(shape) - op.normalized_rank.value.data, len(shape))))


def parameters_applied(
    b: GridBuilder, op: TrailingNormOp, x: SSAValue, indices: Indices
) -> SSAValue:
    """Scale and shift a normalized element by the optional parameters."""
    for parameter, combine in zip(op.parameters, (arith.MulfOp, arith.AddfOp), strict=False):
        place = indices[len(indices) - len(shape_of(parameter)) :]
        x = b.apply(combine, x, convert(b, b.read(parameter, place), x.type))
    return x


def inverse_root(b: GridBuilder, mean_square: SSAValue, eps: float) -> SSAValue:
    """Return 1 / sqrt(mean square + eps)."""
    shifted = b.apply(arith.AddfOp, mean_square, b.constant(eps, mean_square.type))
    return b.apply(math.RsqrtOp, shifted)


def layer_norm(b: GridBuilder, op: graph.LayerNormOp) -> SSAValue:
    """Three grids: row mean, inverse standard deviation, normalized elements."""
    axes, found = trailing_axes(op), op.result_type
    means = mean_grid(b, op.x, axes)

    def deviation(outer: Indices) -> SSAValue:
        variance = scaled(b, squares_at(b, op.x, means, axes, outer), reciprocal(axes.count))
        return inverse_root(b, variance, op.eps.value.data)

    factors = b.grid(axes.outer, computation_type(found.element_type), deviation)

    def scalar_at(indices: Indices) -> SSAValue:
        distance = distance_at(b, op.x, means, axes, indices)
        normal = b.apply(arith.MulfOp, distance, b.read(factors, axes.outer_of(indices)))
        return parameters_applied(b, op, normal, indices)

    return b.grid(axes.shape, found.element_type, scalar_at)


def rms_norm(b: GridBuilder, op: graph.RmsNormOp) -> SSAValue:
    """Two grids: inverse root mean square per row, scaled elements."""
    axes, found = trailing_axes(op), op.result_type

    def factor(outer: Indices) -> SSAValue:
        def square(inner: Indices) -> SSAValue:
            element = b.read(op.x, axes.merge(outer, inner))
            return b.apply(arith.MulfOp, element, element)

        squares = b.reduce(ReduceKind.ADD, axes.extents, square)
        return inverse_root(b, scaled(b, squares, reciprocal(axes.count)), op.eps.value.data)

    factors = b.grid(axes.outer, computation_type(found.element_type), factor)

    def scalar_at(indices: Indices) -> SSAValue:
        element = b.read(op.x, indices)
        normal = b.apply(arith.MulfOp, element, b.read(factors, axes.outer_of(indices)))
        return parameters_applied(b, op, normal, indices)

    return b.grid(axes.shape, found.element_type, scalar_at)


RULES: dict[type[Operation], Rule[GridBuilder]] = {
    graph.LayerNormOp: layer_norm,
    graph.LogSoftmaxOp: log_softmax,
    graph.RmsNormOp: rms_norm,
    graph.SoftmaxOp: softmax,
}
