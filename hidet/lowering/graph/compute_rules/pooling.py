"""Rules of pools: a grid over window positions, with a reduction over the window."""

from functools import reduce

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from hidet.dialects import graph
from hidet.dialects.compute import ReduceKind
from hidet.dialects.graph.base import shape_of
from hidet.lowering.graph.compute_rules.grid_builder import (
    GridBuilder,
    Indices,
    WindowAccess,
    convert,
)
from hidet.lowering.single_walk import Rule
from hidet.rewriting.builder import Index

SPATIAL = 2
"""The number of spatial dimensions, the last ones."""


def access_of(op: graph.MaxPool2dOp | graph.AvgPool2dOp) -> WindowAccess:
    """Return the window access of a pool."""
    sizes, positions = shape_of(op.x)[-SPATIAL:], op.result_type.get_shape()[-SPATIAL:]
    return WindowAccess(op.x, sizes, op.window, positions)


def pooled_at(
    b: GridBuilder,
    op: graph.MaxPool2dOp | graph.AvgPool2dOp,
    kind: ReduceKind,
    outside: float,
    indices: Indices,
) -> SSAValue:
    """Reduce the elements of a window, with a constant outside of the image."""
    leading, position = indices[:-SPATIAL], indices[-SPATIAL:]
    element = op.result_type.element_type
    access = access_of(op)

    def element_at(offset: Indices) -> SSAValue:
        return b.widen(
            access.element(b, leading, position, offset, lambda: b.exact(outside, element))
        )

    return b.reduce(kind, op.window.kernel, element_at)


def max_pool2d(b: GridBuilder, op: graph.MaxPool2dOp) -> SSAValue:
    """The maximum of the window."""
    return b.result_of(op, lambda indices: pooled_at(b, op, ReduceKind.MAX, -float("inf"), indices))


def avg_pool2d(b: GridBuilder, op: graph.AvgPool2dOp) -> SSAValue:
    """The sum of the window, divided by a constant or by its number of elements."""

    def scalar_at(indices: Indices) -> SSAValue:
        total = pooled_at(b, op, ReduceKind.ADD, 0, indices)
        divisor = divisor_at(b, op, indices[-SPATIAL:], total)
        return b.apply(arith.DivfOp, total, divisor)

    return b.result_of(op, scalar_at)


def divisor_at(
    b: GridBuilder, op: graph.AvgPool2dOp, position: Indices, total: SSAValue
) -> SSAValue:
    """Return the divisor at a position, in the type of the sum."""
    if op.divisor is not None:
        return b.constant(op.divisor.value.data, total.type)
    access = access_of(op)
    counts = [counted(b, op, access, axis, at) for axis, at in enumerate(position)]
    return as_number(b, reduce(b.mul, counts, 1), total)


def counted(
    b: GridBuilder, op: graph.AvgPool2dOp, access: WindowAccess, axis: int, position: Index
) -> Index:
    """Count the window elements along an axis, with or without padding.

    A window begins at position * stride - padding. Elements beyond the trailing padding never
    count.
    """
    kernel, padding = op.window.kernel[axis], op.window.padding[axis]
    border = padding if bool(op.count_include_pad) else 0
    low, high = -border, access.sizes[axis] + border
    first, last = access.bounds(axis)
    if first >= low and last < high:
        return kernel
    begin = b.subtract(b.mul(position, op.window.stride[axis]), padding)
    end = b.add(begin, kernel)
    if first < low:
        begin = b.apply(arith.MaxSIOp, b.index(begin), b.index(low))
    if last >= high:
        end = b.apply(arith.MinSIOp, b.index(end), b.index(high))
    return b.subtract(end, begin)


def as_number(b: GridBuilder, count: Index, like: SSAValue) -> SSAValue:
    """Return a count in the type of another scalar."""
    if isinstance(count, int):
        return b.constant(count, like.type)
    return convert(b, b.insert(arith.IndexCastOp(count, i64)).result, like.type)


RULES: dict[type[Operation], Rule[GridBuilder]] = {
    graph.AvgPool2dOp: avg_pool2d,
    graph.MaxPool2dOp: max_pool2d,
}
