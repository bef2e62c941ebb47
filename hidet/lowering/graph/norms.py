"""Decompositions of softmax and norms."""

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import bf16, f16
from xdsl.ir import Attribute, Block, Operation, SSAValue

from hidet.analysis.rows import MIN_ROW
from hidet.dialects import graph
from hidet.dialects.graph import AnchorOp
from hidet.dialects.graph.base import element_type, shape_of
from hidet.dialects.graph.reduction import NormOp
from hidet.dialects.walking import reached
from hidet.lowering.graph.compute_rules.reduction import SHORT_ROW
from hidet.lowering.graph.graph_builder import GraphBuilder, largest_divisor
from hidet.lowering.graph.memory_order import adjacent_dim
from hidet.lowering.graph.reductions import (
    mean_and_variance,
    mean_of_squares,
    moments_along,
    packed,
)
from hidet.lowering.single_walk import Rule


def decompose_softmax(b: GraphBuilder, op: graph.SoftmaxBase) -> SSAValue | None:
    """exp(x - maximum) over its sum, or the logarithm of that.

    Short rows stay for `lower-graph-to-compute`, and logarithms of rows that are not in parts.
    """
    axis, shape = op.axis.value.data, shape_of(op.x)
    is_log, element = type(op) is graph.LogSoftmaxOp, element_type(op.x)
    parts = in_parts(op.x, axis) if axis == len(shape) - 1 else None
    if shape[axis] <= SHORT_ROW or (is_log and parts is None):
        return None
    x = b.widened(op.x)
    if parts is None:
        powers = powers_of(b, x, b.emit(graph.MaxOp(x, [axis], keepdims=True)))
        total = b.emit(graph.SumOp(powers, [axis], keepdims=True))
        return b.cast(quotient(b, powers, total, element), element)
    largest, total = (b.reshape(each, [*shape[:-1], 1]) for each in scale(b, x, parts))
    if is_log:
        distance = b.emit(graph.SubOp(x, largest))
        return b.cast(b.emit(graph.SubOp(distance, b.emit(graph.LogOp(total)))), element)
    return b.cast(quotient(b, powers_of(b, x, largest), total, element), element)


def quotient(b: GraphBuilder, x: SSAValue, row: SSAValue, element: Attribute) -> SSAValue:
    """Return the quotient of a tensor and of values of its rows, to be rounded to a type.

    For 16 bits a product with the reciprocal is exact enough, and takes a few instructions less.
    """
    if element in (f16, bf16):
        return b.emit(graph.MulOp(x, b.emit(graph.ReciprocalOp(row))))
    return b.emit(graph.DivOp(x, row))


FINITE = 3e38
"""A number beyond any that is not masked."""


def powers_of(b: GraphBuilder, x: SSAValue, largest: SSAValue) -> SSAValue:
    """Return exp(x - largest)."""
    return b.emit(graph.ExpOp(b.emit(graph.SubOp(x, largest))))


def scale(b: GraphBuilder, x: SSAValue, parts: Sequence[int]) -> tuple[SSAValue, SSAValue]:
    """Return the maxima [rows, 1, 1] of rows in parts [rows, parts, length], and sums of powers.

    One kernel computes those of the parts, another one joins them: by warps, as there are masked
    parts, all -inf, behind those of a row if need be.
    """
    runs = b.reshape(x, parts)
    maxima = b.emit(graph.MaxOp(runs, [2], keepdims=True))
    finite = b.emit(graph.MaximumOp(maxima, b.scalar(-FINITE, element_type(x))))
    sums = b.emit(graph.SumOp(powers_of(b, runs, finite), [2], keepdims=True))
    if (missing := MIN_ROW - parts[1]) > 0:
        maxima = b.emit(graph.PadOp(maxima, [0, 0, 0], [0, missing, 0], float("-inf")))
        sums = b.emit(graph.PadOp(sums, [0, 0, 0], [0, missing, 0]))
    largest = b.emit(graph.MaxOp(maxima, [1], keepdims=True))
    scaled = b.emit(graph.MulOp(sums, powers_of(b, maxima, largest)))
    return largest, b.emit(graph.SumOp(scaled, [1], keepdims=True))


def decompose_norm(b: GraphBuilder, op: NormOp) -> SSAValue:
    """The tensor, or its distance from the mean, over sqrt(mean of squares + eps)."""
    if (images := grouped_images(op)) is not None:
        return group_norm(b, op, images)
    first, x = len(shape_of(op.x)) - op.normalized_rank.value.data, b.widened(op.x)
    is_centered, parts = type(op) is graph.LayerNormOp, in_parts(x, first)
    axes = range(first, len(shape_of(x)))
    if parts is None:
        if is_centered:
            x = b.emit(graph.SubOp(x, b.emit(graph.MeanOp(x, axes, keepdims=True))))
        squares = mean_of_squares(b, x, axes)
    else:
        runs, kept = b.reshape(x, parts), [*shape_of(x)[:first], *(1 for _ in axes)]
        if is_centered:
            mean, squares = moments(b, runs)
            x = b.emit(graph.SubOp(x, b.reshape(mean, kept)))
        else:
            squares = b.emit(graph.MeanOp(mean_of_squares(b, runs, [2]), [1], keepdims=True))
        squares = b.reshape(squares, kept)
    shifted = b.emit(graph.AddOp(squares, b.scalar(op.eps.value.data, element_type(x))))
    x = b.emit(graph.MulOp(x, b.emit(graph.RsqrtOp(shifted))))
    return b.cast(x, element_type(op.x))


FEW_ROWS, LONG = 64, 1 << 15
"""The number of rows up to which their statistics are computed in parts, and the length beyond
which: few blocks do not occupy a GPU, but parts take two further kernels. On an H200 the softmax of
16 x 50257 halves takes 15 us in one kernel and 5.5 in three; the group norm of 64 groups of 2^15
elements takes 4.5 us and 5.9. Clusters of blocks that share a row were no faster: 7 us."""

PARTS, MIN_PARTS = 1024, 32
"""The most parts of all rows, and the most of a row that there may always be."""


def in_parts(x: SSAValue, first: int) -> tuple[int, int, int] | None:
    """Return the shape [rows, parts, length] of a few long rows; None if there are enough rows.

    Rows are the dimensions from the first one on.
    """
    shape = shape_of(x)
    rows, length = prod(shape[:first]), prod(shape[first:])
    if not 0 < rows <= FEW_ROWS or length <= LONG:
        return None
    parts = largest_divisor(length, max(PARTS // rows, MIN_PARTS))
    return (rows, parts, length // parts) if parts > 1 else None


def moments(b: GraphBuilder, runs: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return the means and variances [rows, 1, 1] of rows in parts [rows, parts, length].

    They are those of the parts and of their means (Chan et al., 1983).
    """
    means = b.emit(graph.MeanOp(runs, [2], keepdims=True))
    squares = mean_of_squares(b, b.emit(graph.SubOp(runs, means)), [2])
    return mean_and_variance(b, means, squares, [1])


LARGE_GROUP = 1 << 14
"""The number of elements of a group of channels from which on many threads reduce runs of them."""

RUN_OF_PIXELS = 16
"""The most pixels of a channel that one thread reduces."""


def grouped_images(op: NormOp) -> SSAValue | None:
    """Return the images [N, C, ...] of a convolution whose groups of channels a layer norm reads.

    None if the operator is another norm, or the number of pixels has no divisor.
    """
    rows = shape_of(op.x)
    is_plain = type(op) is graph.LayerNormOp and op.normalized_rank.value.data == 1
    if not is_plain or len(rows) != 3:
        return None
    images = op.x.owner.x if isinstance(op.x.owner, graph.ReshapeOp) else op.x
    count, channels, *extents = shape_of(images) if len(shape_of(images)) > 2 else (0, 1)
    if count != rows[0] or channels % rows[1] or not is_of_anchor(images):
        return None
    if images is op.x and adjacent_dim(images) != 1:
        return None  # rows of a layer norm
    return images if largest_divisor(prod(extents), RUN_OF_PIXELS) > 1 else None


def is_of_anchor(x: SSAValue) -> bool:
    """Return whether a tensor is computed from the result of a convolution or a matmul."""

    def producers(op: Operation | Block) -> list[Operation | Block]:
        return [operand.owner for operand in op.operands] if isinstance(op, Operation) else []

    return any(isinstance(op, AnchorOp) for op in reached([x.owner], producers))


def moments_of_runs(b: GraphBuilder, runs: SSAValue) -> SSAValue:
    """Return the means and variances [n, parts, 2, channels] of runs [n, parts, length, channels].

    One kernel computes both, from distances to the first element. They are stored: there are too
    few groups to compute them in.
    """
    first = b.narrow(runs, 2, 0, 1)

    def distance() -> SSAValue:
        """Return the distances, anew for each mean: nothing else reads them, so none is stored."""
        return b.emit(graph.SubOp(runs, first))

    shifts = [b.emit(graph.MeanOp(distance(), [2], keepdims=True)) for _ in range(2)]
    mean, square = b.emit(graph.AddOp(first, shifts[0])), b.emit(graph.MulOp(shifts[1], shifts[1]))
    variance = b.emit(graph.SubOp(mean_of_squares(b, distance(), [2]), square))
    return b.emit(graph.PackOp(b.emit(graph.ConcatOp([mean, variance], 2)), range(4)))


def group_norm(b: GraphBuilder, op: NormOp, images: SSAValue) -> SSAValue:
    """The norm of groups of channels, for images whose channels are last in memory.

    Threads reduce runs of pixels, adjacent channels side by side; then the mean of a group is that
    of its runs, and its variance that of the runs plus that of their means (Chan et al., 1983).
    """
    count, groups, _ = shape_of(op.x)
    _, channels, *extents = shape_of(images)
    x = b.widened(images)
    if channels == groups:
        found = moments_along(b, x, range(2, 2 + len(extents)))
        mean, variance = (b.reshape(each, [count, groups, 1, 1]) for each in found)
    elif shape_of(op.x)[2] < LARGE_GROUP:
        split = b.reshape(x, [count, groups, channels // groups, prod(extents)])
        pixels = b.permute(split, [0, 1, 3, 2])
        mean = b.emit(graph.MeanOp(pixels, [2, 3], keepdims=True))
        variance = mean_of_squares(b, b.emit(graph.SubOp(pixels, mean)), [2, 3])
    else:
        run = largest_divisor(prod(extents), RUN_OF_PIXELS)
        runs = b.reshape(x, [count, channels, prod(extents) // run, run])
        parts = moments_of_runs(b, b.permute(runs, [0, 2, 3, 1]))
        grouped = [count, prod(extents) // run, groups, channels // groups]
        means, variances = (
            b.permute(b.reshape(b.narrow(parts, 2, n, n + 1), grouped), [0, 2, 1, 3])
            for n in range(2)
        )
        mean, variance = mean_and_variance(b, means, variances, [2, 3])
    shifted = b.emit(graph.AddOp(variance, b.scalar(op.eps.value.data, element_type(variance))))
    # Stored, since pixels are normalized in another order than groups are reduced.
    stored = [packed(b, each) for each in (mean, b.emit(graph.RsqrtOp(shifted)))]
    of_groups = [count, groups, 1, channels // groups]
    of_channels = [
        b.reshape(b.emit(graph.ExpandOp(each, of_groups)), [count, channels, *(1 for _ in extents)])
        for each in stored
    ]
    x = b.emit(graph.MulOp(b.emit(graph.SubOp(x, of_channels[0])), of_channels[1]))
    return b.reshape(b.cast(x, element_type(op.x)), shape_of(op.x))


SOFTMAX_AND_NORMS: dict[type[Operation], Rule[GraphBuilder]] = {
    graph.LayerNormOp: decompose_norm,
    graph.RmsNormOp: decompose_norm,
    graph.LogSoftmaxOp: decompose_softmax,
    graph.SoftmaxOp: decompose_softmax,
}
"""Decompositions of operators that those of `decompose-graph` build too."""
