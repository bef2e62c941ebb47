"""ATen operators that create tensors, or only move elements."""

from collections.abc import Sequence
from math import prod

import torch
from torch._prims_common import make_contiguous_strides_for
from xdsl.ir import SSAValue

from hidet.dialects import graph
from hidet.dialects.graph.base import Number, shape_of
from hidet.frontends.torch.dtypes import type_of
from hidet.frontends.torch.nodes import first_tensor
from hidet.frontends.torch.operators.emitter import Emitter, Table, unsupported
from hidet.frontends.torch.philox import RANDOM
from hidet.frontends.torch.storage import physical_order

aten = torch.ops.aten


def full(g: Emitter, *arguments: Number) -> SSAValue:
    """A tensor of one value, the last argument."""
    return g.fill(arguments[-1])


def empty(g: Emitter, *_: object) -> SSAValue:
    """An uninitialized tensor."""
    return g.fill(0)


def arange(g: Emitter, start: Number, end: Number, step: Number = 1) -> SSAValue:
    """A range, whose length is that of the result."""
    return g.emit(graph.IotaOp(type_of(g.meta), start=start, step=step))


def random(
    g: Emitter, seeds: SSAValue, number: int, size: object, distribution: str, *_: object
) -> SSAValue:
    """Random numbers, a function of a seed."""
    return g.emit(graph.RandomOp(seeds, number, distribution, result=type_of(g.meta)))


CREATION: Table = {
    aten.full.default: full,
    aten.full_like.default: full,
    aten.scalar_tensor.default: full,
    aten.empty.memory_format: empty,
    aten.empty_permuted.default: empty,
    aten.empty_strided.default: empty,
    aten.new_empty_strided.default: empty,
    aten.arange.start_step: arange,
    RANDOM: random,
}
"""The translations of operators that create tensors."""


def reshape(g: Emitter, x: SSAValue, *_: object) -> SSAValue:
    """A reshape: views, inserted and removed dimensions of size 1."""
    return g.reshape(x, g.shape)


def permute(g: Emitter, x: SSAValue, dims: Sequence[int]) -> SSAValue:
    """The dimensions in another order."""
    return g.permute(x, [dim % len(dims) for dim in dims])


def expand(g: Emitter, x: SSAValue, *_: object) -> SSAValue:
    """The tensor broadcast to another shape."""
    return g.expand(x, g.shape)


def slice_(
    g: Emitter,
    x: SSAValue,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> SSAValue:
    """A slice along one dimension; bounds are as in Python."""
    sizes = shape_of(x)
    dim %= len(sizes)
    first, stop, _ = slice(start, end, step).indices(sizes[dim])
    return g.slice(x, dim, first, max(first, stop), step)


def select(g: Emitter, x: SSAValue, dim: int, index: int) -> SSAValue:
    """A selection of one index, which removes the dimension."""
    sizes = shape_of(x)
    dim %= len(sizes)
    index %= sizes[dim]
    return g.reshape(g.slice(x, dim, index, index + 1), g.shape)


def split(g: Emitter, x: SSAValue, sizes: Sequence[int], dim: int = 0) -> tuple[SSAValue, ...]:
    """Parts of given sizes along a dimension."""
    dim %= len(shape_of(x))
    starts = [sum(sizes[:part]) for part in range(len(sizes))]
    return tuple(
        g.slice(x, dim, start, start + size) for start, size in zip(starts, sizes, strict=True)
    )


def concat(g: Emitter, tensors: Sequence[SSAValue], dim: int = 0) -> SSAValue:
    """A concatenation; empty tensors of rank 1 are ignored."""
    rank = len(g.shape)
    parts = [g.cast(x, g.element) for x in tensors if rank == 1 or shape_of(x) != (0,)]
    return parts[0] if len(parts) == 1 else g.emit(graph.ConcatOp(parts, dim))


def pad(g: Emitter, x: SSAValue, pads: Sequence[int], value: Number = 0) -> SSAValue:
    """Padding of the last dimensions, or cropping by negative amounts.

    `pads` are the amounts before and after, for each dimension, the last one first.
    """
    sizes = shape_of(x)
    low, high = [0] * len(sizes), [0] * len(sizes)
    for number, (front, back) in enumerate(zip(pads[::2], pads[1::2], strict=True)):
        axis = len(sizes) - 1 - number
        x = g.slice(x, axis, max(0, -front), sizes[axis] - max(0, -back))
        low[axis], high[axis] = max(0, front), max(0, back)
    if not any(low) and not any(high):
        return x
    return g.emit(graph.PadOp(x, low, high, value))


def flip(g: Emitter, x: SSAValue, dims: Sequence[int]) -> SSAValue:
    """The elements in reverse order along some dimensions."""
    for dim in dims:
        x = g.slice(x, dim, shape_of(x)[dim] - 1, -1, -1)
    return x


def repeat(g: Emitter, x: SSAValue, repeats: Sequence[int]) -> SSAValue:
    """The tensor tiled along each dimension; new dimensions come first."""
    sizes = (1,) * (len(repeats) - len(shape_of(x))) + shape_of(x)
    pairs = list(zip(repeats, sizes, strict=True))
    x = g.reshape(x, [part for _, size in pairs for part in (1, size)])
    return g.reshape(g.expand(x, [part for pair in pairs for part in pair]), g.shape)


def unfold(g: Emitter, x: SSAValue, dim: int, size: int, step: int) -> SSAValue:
    """Windows along a dimension, whose elements become the last dimension."""
    sizes = shape_of(x)
    strides = [*make_contiguous_strides_for(sizes)]
    strides = [*strides, strides[dim]] if sizes else [1]
    if sizes:
        strides[dim % len(sizes)] *= step
    return strided(g, x, strides)


def diagonal(g: Emitter, x: SSAValue, offset: int = 0, dim1: int = 0, dim2: int = 1) -> SSAValue:
    """The diagonal of two dimensions, which becomes the last dimension."""
    strides = make_contiguous_strides_for(shape_of(x))
    row, column = strides[dim1], strides[dim2]
    others = [
        stride
        for dim, stride in enumerate(strides)
        if dim not in (dim1 % len(strides), dim2 % len(strides))
    ]
    start = column * offset if offset >= 0 else -row * offset
    return strided(g, x, [*others, row + column], start)


def strided(g: Emitter, x: SSAValue, strides: Sequence[int], offset: int = 0) -> SSAValue:
    """A view of the elements of x in row-major order, with the shape of the result."""
    if 0 in g.shape:
        return g.fill(0)
    storage = g.reshape(x, [prod(shape_of(x))])
    return g.emit(graph.AsStridedOp(storage, g.shape, strides, offset))


def as_strided(
    g: Emitter,
    x: SSAValue,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> SSAValue:
    """A strided view of the storage of x, which must be all of x in some order of dimensions."""
    source = first_tensor(g.node.all_input_nodes[0])
    order = physical_order(source)
    if order is None or source.storage_offset() != 0:
        raise unsupported("the storage of a view of a part")
    if not source.is_contiguous():
        x = g.emit(graph.PermuteOp(x, order))
    return strided(g, x, stride, storage_offset or 0)


def copy(g: Emitter, x: SSAValue, source: SSAValue) -> SSAValue:
    """The source in shape and type of x."""
    return g.expand(g.cast(source, g.element), g.shape)


SHAPE: Table = {
    aten.view.default: reshape,
    aten._unsafe_view.default: reshape,
    aten.squeeze.dims: reshape,
    aten.unsqueeze.default: reshape,
    aten.permute.default: permute,
    aten.expand.default: expand,
    aten.slice.Tensor: slice_,
    aten.select.int: select,
    aten.split_with_sizes.default: split,
    aten.cat.default: concat,
    aten.constant_pad_nd.default: pad,
    aten.flip.default: flip,
    aten.repeat.default: repeat,
    aten.unfold.default: unfold,
    aten.diagonal.default: diagonal,
    aten.as_strided.default: as_strided,
    aten.copy.default: copy,
}
"""The translations of operators that only move elements."""
