"""Decompositions of reductions: a few long rows in parts, and the moments of channels of images."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Block, SSAValue

from hidet.analysis.rows import MIN_ROW
from hidet.dialects import graph
from hidet.dialects.graph.base import element_type, shape_of
from hidet.lowering.graph.graph_builder import GraphBuilder, largest_divisor
from hidet.lowering.graph.memory_order import VIEWS, adjacent_dim

LONG, LONG_IMAGE = 1 << 15, 1 << 13
"""The length from which rows are reduced in parts, and images of `CHANNELS` or more, of which few
blocks can read adjacent ones."""

CHANNELS = 16
"""The fewest channels that threads read side by side, as many as a sector of memory has."""

SPLIT = graph.MaxOp, graph.MeanOp, graph.MinOp, graph.ProdOp, graph.SumOp
"""Reductions that are the same reduction of those of equal parts."""

FEW_ROWS = 256
"""The number of rows up to which they are reduced in parts."""

ENOUGH_ROWS = 4096
"""The number of rows and parts of rows that occupies a GPU; blocks may have 16 of them."""

LONG_COLUMN, PART_OF_COLUMN = 1 << 10, 1 << 9
"""The length from which columns are reduced in parts if there are fewer than `ENOUGH_ROWS`, and the
most elements of a part: what they are computed from is often stored as well, by the same kernel."""

ENOUGH_COLUMNS = 1 << 14
"""The number of columns and parts of them that occupies a GPU. There are `MIN_ROW` parts at least,
so that rows of parts are reduced, several by one kernel."""


@dataclass(frozen=True)
class Parts:
    """How rows are split in parts: dimensions are permuted, and then the tensor is reshaped.

    `axis` is that of the parts, `inner` are those of their elements.
    """

    order: Sequence[int]
    shape: Sequence[int]
    axis: int
    inner: Sequence[int]

    def of(self, b: GraphBuilder, x: SSAValue) -> SSAValue:
        """Return a tensor with an axis of parts."""
        return b.reshape(b.permute(x, self.order), self.shape)


def parts_of(x: SSAValue, axes: Sequence[int], long_column: int = LONG_COLUMN) -> Parts | None:
    """Return the parts of a few long rows, which many blocks share; None if rows are not split."""
    shape = shape_of(x)
    length = prod(shape[n] for n in axes)
    rows = prod(shape) // max(length, 1)
    if rows == 0:
        return None
    if is_across(x, axes):
        return parts_of_columns(x, axes) if rows < ENOUGH_ROWS and length >= long_column else None
    long = LONG_IMAGE if len(axes) > 1 and rows >= CHANNELS else LONG
    if rows > FEW_ROWS or length < long:
        return None
    divisors = {n: largest_divisor(shape[n], ENOUGH_ROWS // rows) for n in axes}
    axis = next((n for n in axes if divisors[n] > 1), None)
    if axis is None:
        return None
    split = [*shape[:axis], divisors[axis], shape[axis] // divisors[axis], *shape[axis + 1 :]]
    return Parts(range(len(shape)), split, axis, [n + (n >= axis) for n in axes])


def parts_of_columns(x: SSAValue, axes: Sequence[int]) -> Parts | None:
    """Return the parts of columns, [parts, elements, columns], behind columns of outer dimensions.

    The elements of a column are not adjacent in memory, but those of several columns are.
    """
    shape, adjacent = shape_of(x), adjacent_dim(x)
    kept = [n for n in range(len(shape)) if n not in axes]
    outer = [n for n in kept if n < axes[0] and (adjacent is None or n < adjacent)]
    inner = kept[len(outer) :]
    length, columns = (prod(shape[n] for n in dims) for dims in (axes, kept))
    most = max(ENOUGH_COLUMNS // columns, length // PART_OF_COLUMN, MIN_ROW)
    parts = largest_divisor(length, min(most, length // MIN_ROW))
    if parts == 1:
        return None
    head = [shape[n] for n in outer]
    split = [*head, parts, length // parts, prod(shape[n] for n in inner)]
    return Parts([*outer, *axes, *inner], split, len(head), [len(head) + 1])


def split_reduction(b: GraphBuilder, op: graph.ReductionOp) -> SSAValue | None:
    """A few long rows are reduced in parts, and then the parts."""
    axes = op.axes.get_values()
    of_each_image = len(axes) > 1 and axes[0] != 0
    if (parts := parts_of(op.x, axes, LONG_IMAGE if of_each_image else LONG_COLUMN)) is None:
        return None
    x = b.emit(type(op)(parts.of(b, b.widened(op.x)), parts.inner))
    x = b.emit(type(op)(x, [parts.axis - sum(n < parts.axis for n in parts.inner)]))
    return as_result(b, x, op)


def as_result(b: GraphBuilder, x: SSAValue, op: graph.ReductionOp) -> SSAValue:
    """Return a value in the type of the result of an operator."""
    return b.reshape(b.cast(x, op.result_type.element_type), op.result_type.get_shape())


def split_variance(b: GraphBuilder, op: graph.VarOp) -> SSAValue | None:
    """The variance of a few long rows is computed in parts, and that across memory is stored.

    So is the mean before it. What reads the moments of channels, as instance norms do, then keeps
    channels last in memory.
    """
    axes, shape = op.axes.get_values(), shape_of(op.x)
    count = prod(shape[n] for n in axes)
    divisor, across = count - op.correction.value.data, is_across(op.x, axes)
    is_split = parts_of(op.x, axes) is not None
    if divisor <= 0 or not (is_split or across):
        return None
    b = GraphBuilder.like(op.mean or op)
    mean, variance = moments_along(b, b.widened(op.x), axes)
    if not is_split:
        mean, variance = packed(b, mean), packed(b, variance)
    if op.mean is not None:
        op.mean.result.replace_all_uses_with(as_result(b, mean, op.mean))
    if divisor < count:
        factor = b.scalar(count / divisor, element_type(variance))
        variance = b.emit(graph.MulOp(variance, factor))
    return as_result(b, variance, op)


def is_across(x: SSAValue, axes: Sequence[int]) -> bool:
    """Return whether adjacent elements in memory belong to different rows along some axes."""
    rows = prod(extent for axis, extent in enumerate(shape_of(x)) if axis not in axes)
    if (adjacent := adjacent_dim(x)) is None:
        return len(shape_of(x)) - 1 not in axes and rows >= 8 * CHANNELS
    return adjacent not in axes and rows >= CHANNELS


def packed(b: GraphBuilder, x: SSAValue) -> SSAValue:
    """Return a tensor that is stored in the order of its dimensions."""
    return b.emit(graph.PackOp(x, range(len(shape_of(x)))))


def moments_along(b: GraphBuilder, x: SSAValue, axes: Sequence[int]) -> tuple[SSAValue, SSAValue]:
    """Return means and variances along axes, whose extents become 1, in parts if rows are long."""
    kept = [1 if axis in axes else extent for axis, extent in enumerate(shape_of(x))]
    if (parts := parts_of(x, axes)) is not None:
        x, axes = parts.of(b, x), parts.inner
    if parts is not None and is_stored(x):
        mean, variance = shifted_moments(b, x, axes)
    else:
        mean = b.emit(graph.MeanOp(x, axes, keepdims=True))
        variance = b.emit(graph.VarOp(x, axes, keepdims=True, correction=0))
    if parts is not None:
        # With the parts of a row last, one kernel reduces both.
        rest = (n for n in range(len(parts.shape)) if n not in (parts.axis, *axes))
        dims = [*rest, parts.axis, *axes]
        mean, variance = (b.permute(each, dims) for each in (mean, variance))
        mean, variance = mean_and_variance(b, mean, variance, [dims.index(parts.axis)])
    return b.reshape(mean, kept), b.reshape(variance, kept)


def is_stored(x: SSAValue) -> bool:
    """Return whether a tensor is a view or a cast of one that another kernel has stored."""
    while isinstance(x.owner, (*VIEWS, graph.CastOp)):
        x = x.owner.operands[0]
    return isinstance(x.owner, (Block, graph.ConcatOp, graph.ProductOp))


def shifted_moments(b: GraphBuilder, x: SSAValue, axes: Sequence[int]) -> tuple[SSAValue, SSAValue]:
    """Return means and variances along axes from distances to the first element, loaded once.

    One kernel computes both, see Chan et al., 1983. That element adds the square of the mean
    distance to the squares, which limits what their difference can cancel.
    """
    first = x
    for axis in axes:
        first = b.narrow(first, axis, 0, 1)
    distance = b.emit(graph.SubOp(x, first))
    shift = b.emit(graph.MeanOp(distance, axes, keepdims=True))
    squares = mean_of_squares(b, distance, axes)
    variance = b.emit(graph.SubOp(squares, b.emit(graph.MulOp(shift, shift))))
    return b.emit(graph.AddOp(first, shift)), variance


def mean_and_variance(
    b: GraphBuilder, means: SSAValue, variances: SSAValue, axes: Sequence[int]
) -> tuple[SSAValue, SSAValue]:
    """Return those of the union of equal parts, which are along some axes, in one kernel.

    See Chan et al., 1983.
    """
    mean = b.emit(graph.MeanOp(means, axes, keepdims=True))
    between = mean_of_squares(b, b.emit(graph.SubOp(means, mean)), axes)
    return mean, b.emit(graph.AddOp(between, b.emit(graph.MeanOp(variances, axes, keepdims=True))))


def mean_of_squares(b: GraphBuilder, x: SSAValue, axes: Sequence[int]) -> SSAValue:
    """Return the means of squares along axes, whose extents become 1."""
    return b.emit(graph.MeanOp(b.emit(graph.MulOp(x, x)), axes, keepdims=True))
