"""Views: where the elements of a tensor are in the tensor that it is a view of."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from xdsl.dialects import arith
from xdsl.ir import Operation

from hidet.dialects.graph.base import shape_of
from hidet.dialects.graph.shape import (
    AsStridedOp,
    ExpandOp,
    PermuteOp,
    ReorderingOp,
    ResampleOp,
    ReshapeOp,
    SliceOp,
)
from hidet.rewriting.builder import Index, KernelBuilder

View = AsStridedOp | ExpandOp | PermuteOp | ResampleOp | ReshapeOp | SliceOp

SourceOf = Callable[[KernelBuilder, Any, Sequence[Index]], Sequence[Index]]
"""`rule(builder, op, indices)` returns the indices of an element of the result in the source."""


def of_reshape(b: KernelBuilder, op: ReshapeOp, indices: Sequence[Index]) -> list[Index]:
    """The same linear index, computed separately for parts of the shapes that agree."""
    source, target = shape_of(op.x), op.result_type.get_shape()
    found: list[Index] = [0] * len(source)
    for source_dims, target_dims in reshape_parts(source, target):
        number = b.linearize(
            [indices[dim] for dim in target_dims], [target[d] for d in target_dims]
        )
        for dim in source_dims:
            stride = prod(source[d] for d in source_dims if d > dim)
            quotient = b.div(number, stride)
            found[dim] = quotient if dim == source_dims[0] else b.mod(quotient, source[dim])
    return found


def reshape_parts(
    source: Sequence[int], target: Sequence[int]
) -> list[tuple[list[int], list[int]]]:
    """Split two shapes of equal size into the smallest parts that agree.

    Return the dimensions of both shapes for each part, without dimensions of size 1: [2, 3, 4] and
    [6, 1, 2, 2] give ([0, 1], [0]) and ([2], [2, 3]).
    """
    left = [dim for dim, size in enumerate(source) if size != 1]
    right = [dim for dim, size in enumerate(target) if size != 1]
    parts: list[tuple[list[int], list[int]]] = []
    while left:
        of_source, of_target = [left.pop(0)], [right.pop(0)]
        while (have := prod(source[d] for d in of_source)) != (
            want := prod(target[d] for d in of_target)
        ):
            if have < want:
                of_source.append(left.pop(0))
            else:
                of_target.append(right.pop(0))
        parts.append((of_source, of_target))
    return parts


def of_permute(b: KernelBuilder, op: ReorderingOp, indices: Sequence[Index]) -> list[Index]:
    """Index i of the result is index dims[i] of x."""
    dims = op.dims.get_values()
    return [indices[i] for i in sorted(range(len(dims)), key=lambda i: dims[i])]


def of_expand(b: KernelBuilder, op: ExpandOp, indices: Sequence[Index]) -> list[Index]:
    """Leading indices are dropped, and dimensions of size 1 are read at 0."""
    return broadcast_indices(indices, shape_of(op.x))


def broadcast_indices(indices: Sequence[Index], shape: Sequence[int]) -> list[Index]:
    """Return the indices of the element of a smaller tensor that is broadcast to the indices."""
    last = indices[len(indices) - len(shape) :]
    return [0 if size == 1 else index for index, size in zip(last, shape, strict=True)]


def of_slice(b: KernelBuilder, op: SliceOp, indices: Sequence[Index]) -> list[Index]:
    """Start + step * index in each dimension."""
    ranges = zip(indices, op.starts.get_values(), op.steps.get_values(), strict=True)
    return [b.add(b.mul(index, step), start) for index, start, step in ranges]


def of_resample(b: KernelBuilder, op: ResampleOp, indices: Sequence[Index]) -> list[Index]:
    """The place along the axis, limited where it may be too low or too high."""
    props = (op.size, op.step, op.offset, op.repeat, op.low, op.high)
    size, step, offset, repeat, low, high = (each.value.data for each in props)
    axis, first = op.axis.value.data, min(offset // repeat, 0)  # dividends are not negative
    scaled = b.add(b.mul(indices[axis], step), offset - first * repeat)
    place = b.add(b.div(scaled, repeat), first)
    if offset // repeat < low:
        place = b.insert(arith.MaxSIOp(b.index(place), b.index(low))).result
    if ((size - 1) * step + offset) // repeat > high:
        place = b.insert(arith.MinSIOp(b.index(place), b.index(high))).result
    return [*indices[:axis], place, *indices[axis + 1 :]]


def of_as_strided(b: KernelBuilder, op: AsStridedOp, indices: Sequence[Index]) -> list[Index]:
    """Offset + the sum of indices times strides."""
    place: Index = 0
    for index, stride in zip(indices, op.strides.get_values(), strict=True):
        place = b.add(place, b.mul(index, stride))
    return [b.add(place, op.offset.value.data)]


VIEWS: dict[type[Operation], SourceOf] = {
    AsStridedOp: of_as_strided,
    ExpandOp: of_expand,
    PermuteOp: of_permute,
    ResampleOp: of_resample,
    ReshapeOp: of_reshape,
    SliceOp: of_slice,
}
"""The operators whose result is a view of their operand `x`."""
