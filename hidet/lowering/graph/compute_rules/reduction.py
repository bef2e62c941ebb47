"""Rules of reductions, matmuls and depthwise convolutions: grids with a `compute.reduce`.

A floating-point matmul stays, as an anchor with templates.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from hidet.dialects import graph
from hidet.dialects.compute import ReduceKind
from hidet.dialects.graph.base import Tensor, computation_type, element_type, is_float, shape_of
from hidet.dialects.graph.reduction import ReductionOp
from hidet.lowering.graph.compute_rules.grid_builder import (
    GridBuilder,
    Indices,
    is_empty,
    window_element,
)
from hidet.lowering.single_walk import Rule
from hidet.rewriting.builder import Index


def reduced(
    b: GridBuilder,
    x: SSAValue,
    axes: Sequence[int],
    kind: ReduceKind,
    result: Tensor | None = None,
    *,
    of: Callable[[SSAValue, Indices], SSAValue] | None = None,
    factor: float | None = None,
) -> SSAValue:
    """Build a grid of reductions of x along axes, each optionally multiplied by a factor.

    The type of the result may keep the axes, with size 1; by default it does not, and has the
    computation type. `of` maps an element, given its indices along the other dimensions.
    """
    sizes = shape_of(x)
    kept = [dim for dim in range(len(sizes)) if dim not in axes]
    if result is None:
        result = TensorType(computation_type(element_type(x)), [sizes[dim] for dim in kept])

    def scalar_at(indices: Indices) -> SSAValue:
        outer = indices if len(indices) == len(kept) else [indices[dim] for dim in kept]

        def element_at(inner: Indices) -> SSAValue:
            by_dim = dict(zip((*kept, *axes), (*outer, *inner), strict=True))
            element = b.read(x, [by_dim[dim] for dim in range(len(sizes))])
            return element if of is None else of(element, outer)

        total = b.reduce(kind, [sizes[axis] for axis in axes], element_at)
        if factor is None:
            return total
        return b.apply(arith.MulfOp, total, b.constant(factor, total.type))

    return b.grid(result.get_shape(), result.element_type, scalar_at)


def reduction(kind: ReduceKind, b: GridBuilder, op: ReductionOp, **how: Any) -> SSAValue:
    """One grid with one reduction."""
    return reduced(b, op.x, op.axes.get_values(), kind, op.result_type, **how)


def reciprocal(op: ReductionOp, correction: int = 0) -> float:
    """Return 1 / (count - correction); infinity for 0: an empty mean is NaN, as in torch."""
    count = prod(shape_of(op.x)[axis] for axis in op.axes.get_values()) - correction
    return 1 / count if count > 0 else float("inf")


def mean(b: GridBuilder, op: ReductionOp) -> SSAValue:
    """One grid: the sum times 1 / count."""
    return reduction(ReduceKind.ADD, b, op, factor=reciprocal(op))


def variance(b: GridBuilder, op: graph.VarOp) -> SSAValue:
    """Two grids: the mean, then squared deviations times 1 / (count - correction).

    A mean before it is shared, unless it is rounded.
    """
    axes, wide, of_mean = op.axes.get_values(), computation_type(element_type(op.x)), op.mean
    if of_mean is None or of_mean.result_type.element_type != wide:
        means, added = reduced(b, op.x, axes, ReduceKind.ADD, factor=reciprocal(op)), []
    else:
        means, added = of_mean.result, sorted(axes) if of_mean.keepdims else []

    def square(x: SSAValue, outer: Indices) -> SSAValue:
        place: list[Index] = list(outer)
        for axis in added:
            place.insert(axis, 0)
        distance = b.apply(arith.SubfOp, x, b.read(means, place))
        return b.apply(arith.MulfOp, distance, distance)

    factor = reciprocal(op, op.correction.value.data)
    return reduction(ReduceKind.ADD, b, op, of=square, factor=factor)


SHORT_ROW = 16
"""The length up to which each element of a softmax reduces its whole row again, in one kernel."""


def softmax_of_short_rows(
    b: GridBuilder, op: graph.SoftmaxBase, *, is_log: bool = False
) -> SSAValue:
    """One grid: exp of the difference to the maximum over the sum of those, or the logarithm."""
    axis = op.axis.value.data

    def scalar_at(indices: Indices) -> SSAValue:
        def along(kind: ReduceKind, of: Callable[[SSAValue], SSAValue]) -> SSAValue:
            def element_at(inner: Indices) -> SSAValue:
                return of(b.read(op.x, [*indices[:axis], *inner, *indices[axis + 1 :]]))

            return b.reduce(kind, [shape_of(op.x)[axis]], element_at)

        def distance(x: SSAValue) -> SSAValue:
            return b.apply(arith.SubfOp, x, top)

        top = along(ReduceKind.MAX, lambda x: x)
        total = along(ReduceKind.ADD, lambda x: b.apply(math.ExpOp, distance(x)))
        own = distance(b.read(op.x, indices))
        if is_log:
            return b.apply(arith.SubfOp, own, b.apply(math.LogOp, total))
        return b.apply(arith.DivfOp, b.apply(math.ExpOp, own), total)

    return b.result_of(op, scalar_at)


def log_softmax(b: GridBuilder, op: graph.SoftmaxBase) -> SSAValue:
    """Four grids: row maximum, sum of exp of the difference, its logarithm, the difference to both.

    The difference is recomputed, instead of stored.
    """
    axis = op.axis.value.data
    if shape_of(op.x)[axis] <= SHORT_ROW:
        return softmax_of_short_rows(b, op, is_log=True)
    top = reduced(b, op.x, [axis], ReduceKind.MAX)

    def distance(x: SSAValue, outer: Indices) -> SSAValue:
        return b.apply(arith.SubfOp, x, b.read(top, outer))

    def power(x: SSAValue, outer: Indices) -> SSAValue:
        return b.apply(math.ExpOp, distance(x, outer))

    sums = reduced(b, op.x, [axis], ReduceKind.ADD, of=power)
    element = element_type(sums)
    logs = b.grid(shape_of(sums), element, lambda at: b.apply(math.LogOp, b.read(sums, at)))

    def scalar_at(indices: Indices) -> SSAValue:
        outer = [*indices[:axis], *indices[axis + 1 :]]
        return b.apply(arith.SubfOp, distance(b.read(op.x, indices), outer), b.read(logs, outer))

    return b.result_of(op, scalar_at)


def matmul(b: GridBuilder, op: graph.MatmulOp) -> SSAValue | None:
    """Floating-point matmuls stay; empty sums are 0; integer matmuls become grids."""
    if is_empty(op.lhs) or is_empty(op.rhs):
        return b.fill(op, 0)
    if is_float(op.result_type.element_type):
        return None

    def scalar_at(indices: Indices) -> SSAValue:
        *batch, row, column = indices

        def product(inner: Indices) -> SSAValue:
            left = b.read_broadcast(op.lhs, [*batch, row, inner[0]])
            right = b.read_broadcast(op.rhs, [*batch, inner[0], column])
            return b.apply(arith.MuliOp, left, right)

        return b.reduce(ReduceKind.ADD, [shape_of(op.lhs)[-1]], product)

    return b.result_of(op, scalar_at)


def depthwise(b: GridBuilder, op: graph.Conv2dOp) -> SSAValue:
    """A depthwise convolution is a grid that reduces the window."""
    element, filters = element_type(op.x), shape_of(op.weight)[0] // op.groups.value.data

    def scalar_at(indices: Indices) -> SSAValue:
        image, filter_, *position = indices
        channel = b.index(b.div(filter_, filters))

        def product(offset: Indices) -> SSAValue:
            pixel = window_element(
                b, op.x, op.window, [image, channel], position, offset, lambda: b.exact(0, element)
            )
            weight = b.read(op.weight, [filter_, b.index(0), *offset])
            return b.apply(arith.MulfOp, b.widen(pixel), weight)

        return b.reduce(ReduceKind.ADD, op.window.kernel, product)

    return b.result_of(op, scalar_at)


RULES: dict[type[Operation], Rule[GridBuilder]] = {
    graph.Conv2dOp: depthwise,
    graph.LogSoftmaxOp: log_softmax,
    graph.MatmulOp: matmul,
    graph.MaxOp: partial(reduction, ReduceKind.MAX),
    graph.MeanOp: mean,
    graph.MinOp: partial(reduction, ReduceKind.MIN),
    graph.ProdOp: partial(reduction, ReduceKind.MUL),
    graph.SoftmaxOp: softmax_of_short_rows,
    graph.SumOp: partial(reduction, ReduceKind.ADD),
    graph.VarOp: variance,
}
