"""ATen operators that read or write at positions: gather and scatter.

All of the latter become one operation, which writes the rows of a tensor, reshaped to [N, D], at
indices [M].
"""

from collections.abc import Sequence
from functools import partial
from math import gcd, prod
from typing import Any

import torch
from xdsl.dialects.builtin import f32, i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from hidet.dialects import graph
from hidet.dialects.graph.base import (
    broadcast_shapes,
    element_type,
    is_float,
    normalized_axis,
    shape_of,
)
from hidet.dialects.graph.shape import ACCUMULATED
from hidet.frontends.torch.operators.emitter import Emitter, Operand, Table, unsupported

aten = torch.ops.aten


def embedding(g: Emitter, table: SSAValue, ids: SSAValue, *_: object) -> SSAValue:
    """An embedding; the other arguments only affect gradients."""
    ids = g.positions(g.reshape(ids, [prod(shape_of(ids))]), shape_of(table)[0])
    return g.reshape(_slices(g, table, 0, ids), g.shape)


def index_select(g: Emitter, x: SSAValue, dim: int, ids: SSAValue) -> SSAValue:
    """Slices along a dimension; a scalar has one index."""
    if not shape_of(x):
        return g.reshape(index_select(g, g.reshape(x, [1]), 0, g.reshape(ids, [1])), [])
    return _slices(g, x, normalized_axis(dim, len(shape_of(x))), _checked(g, x, dim, ids))


def _slices(g: Emitter, x: SSAValue, dim: int, ids: SSAValue) -> SSAValue:
    """Return slices along a dimension at positions [M]."""
    (count,), sizes = shape_of(ids), shape_of(x)
    along = [count if axis == dim else 1 for axis in range(len(sizes))]
    wanted = [*sizes[:dim], count, *sizes[dim + 1 :]]
    return g.emit(graph.GatherOp(x, g.expand(g.reshape(ids, along), wanted), dim))


def gather(g: Emitter, x: SSAValue, dim: int, ids: SSAValue, **_: object) -> SSAValue:
    """One element per index; without any, positions may have another rank."""
    if 0 in shape_of(ids):
        return g.fill(0)
    if not shape_of(x):
        count = prod(shape_of(ids))
        return g.reshape(gather(g, g.reshape(x, [1]), 0, g.reshape(ids, [count])), shape_of(ids))
    return g.emit(graph.GatherOp(x, _checked(g, x, dim, ids), dim))


def _checked(g: Emitter, x: SSAValue, dim: int, ids: SSAValue) -> SSAValue:
    """Check indices into a dimension of x."""
    sizes = shape_of(x)
    size = sizes[normalized_axis(dim, len(sizes))]
    return g.cast(g.positions(ids, size), _position_type(size))


def _position_type(size: int) -> Attribute:
    """Return the shortest type of positions in a dimension."""
    return i32 if size < 1 << 31 else i64


def index(g: Emitter, x: SSAValue, indices: Sequence[SSAValue | None]) -> SSAValue:
    """Advanced indexing, `x[i, :, j]`, with index tensors that broadcast to one shape.

    Indices that each vary along a dimension of their own select along one dimension after the
    other. Else the indexed dimensions are moved to the front and flattened, so that one
    `index_select` reads all elements; then the dimensions of the indices replace the indexed
    dimensions, or come first if those are not adjacent.
    """
    sizes = shape_of(x)
    axes = [axis for axis, ids in enumerate(indices) if ids is not None]
    if _is_outer(indices):
        nodes: Any = g.node.args[1]
        looked_up: list[int] = []
        for axis in axes:  # computed positions first, as views of x
            resampled = _resampled(g, x, axis, g.integers_of(nodes[axis]))
            x = x if resampled is None else resampled
            looked_up += [axis] if resampled is None else []
        for axis in looked_up:
            ids = indices[axis]
            assert ids is not None, "an indexed dimension"
            ids = g.reshape(ids, [prod(shape_of(ids))])
            x = _slices(g, x, axis, linear_positions(g, [sizes[axis]], [ids]))
        return x
    others = [axis for axis in range(len(sizes)) if axis not in axes]
    positions = linear_positions(
        g, [sizes[axis] for axis in axes], [ids for ids in indices if ids is not None]
    )
    wanted = shape_of(positions)

    flat = g.permute(x, [*axes, *others])
    flat = g.reshape(flat, [prod(sizes[axis] for axis in axes), *(sizes[a] for a in others)])
    result = _slices(g, flat, 0, g.reshape(positions, [prod(wanted)]))
    result = g.reshape(result, [*wanted, *(sizes[axis] for axis in others)])

    adjacent = axes[-1] - axes[0] == len(axes) - 1
    front = axes[0] if adjacent else 0
    rank = len(wanted)
    before = range(rank, rank + front)
    after = range(rank + front, rank + len(others))
    return g.permute(result, [*before, *range(rank), *after])


LARGE = 8
"""The divisor from which positions are looked up rather than computed."""


def _resampled(g: Emitter, x: SSAValue, axis: int, table: Sequence[int] | None) -> SSAValue | None:
    """Return the slices of x at the positions of a table if simple arithmetic computes them.

    Interpolation by simple ratios has such tables, and so has replicating padding.
    """
    extent = shape_of(x)[axis]
    if not table or not 0 <= min(table) <= max(table) < extent:
        return None
    if table == [*range(extent)]:
        return x
    size, low, high = len(table), min(table), max(table)
    common = gcd(extent, size)
    for step, repeat in ((1, 1), (extent // common, size // common)):
        # Positions that are not at a limit determine the offset.
        least = [n * repeat - i * step for i, n in enumerate(table) if n > low]
        most = [(n + 1) * repeat - 1 - i * step for i, n in enumerate(table) if n < high]
        offset = max([min([0, *most]), *least])
        found = [min(max((i * step + offset) // repeat, low), high) for i in range(size)]
        if repeat < LARGE and found == table:
            numbers = (size, step, offset, repeat, low, high)
            return g.emit(graph.ResampleOp(x, axis, *numbers))
    return None


def _is_outer(indices: Sequence[SSAValue | None]) -> bool:
    """Return whether adjacent dimensions have indices, the n-th of which vary along dimension n."""
    numbers = [axis for axis, ids in enumerate(indices) if ids is not None]
    given = [shape_of(ids) for ids in indices if ids is not None]
    rank = max(map(len, given), default=0)
    if rank != len(given) or numbers[-1] - numbers[0] != rank - 1:
        return False
    padded = [(1,) * (rank - len(shape)) + shape for shape in given]
    return all(prod(shape) == shape[number] for number, shape in enumerate(padded))


def linear_positions(g: Emitter, sizes: Sequence[int], indices: Sequence[SSAValue]) -> SSAValue:
    """Linearize indices into several dimensions, in row-major order.

    Ranges cover a dimension, and need no check.
    """
    shape = broadcast_shapes("index", *(shape_of(ids) for ids in indices))
    element = _position_type(prod(sizes))
    result: SSAValue | None = None
    for size, ids in zip(sizes, indices, strict=True):
        if not isinstance(ids.owner, graph.IotaOp):
            ids = g.positions(ids, size, from_end=True)
        ids = g.cast(ids, element)
        if result is not None:
            ids = g.emit(graph.AddOp(g.emit(graph.MulOp(result, g.scalar(size, element))), ids))
        result = ids
    if result is None:
        raise unsupported("an index without a tensor")
    return g.expand(result, shape)


LOOKUP: Table = {
    aten.embedding.default: embedding,
    aten.index_select.default: index_select,
    aten.gather.default: gather,
    aten.index.Tensor: index,
    aten._unsafe_index.Tensor: index,
}
"""The translations of gather operators."""


def _scatter(
    g: Emitter, x: SSAValue, positions: SSAValue, source: SSAValue, width: int, accumulate: bool
) -> SSAValue:
    """Return x, reshaped to [N, width], with the rows of a source written, or added, at positions.

    Both are flattened, the source to [M, width].
    """
    if 0 in shape_of(source):
        return x
    count = prod(shape_of(positions))
    positions, source = g.reshape(positions, [count]), g.reshape(source, [count, width])
    element = element_type(x)
    if not accumulate or element in ACCUMULATED:
        return g.emit(graph.ScatterOp(x, positions, source, accumulate=accumulate))
    wide = f32 if is_float(element) else i32
    x, source = g.cast(x, wide), g.cast(source, wide)
    return g.cast(g.emit(graph.ScatterOp(x, positions, source, accumulate=True)), element)


def index_put(
    g: Emitter,
    x: SSAValue,
    indices: Sequence[SSAValue | None],
    values: SSAValue,
    accumulate: bool = False,
) -> SSAValue:
    """Advanced indexing, `x[i, :, j] = values`, or `+=`, with index tensors.

    A row consists of the dimensions after the last indexed one. The elements of x stay in order, so
    that the write can be in place.
    """
    sizes = shape_of(x)
    axes = [axis for axis, ids in enumerate(indices) if ids is not None]
    given = [ids for ids in indices if ids is not None]
    is_mask = len(given) == 1 and element_type(given[0]) == i1
    # One row, for each true element of the mask.
    is_row = is_mask and axes[0] + len(shape_of(given[0])) + len(shape_of(values)) <= len(sizes)
    if is_mask and (prod(shape_of(values)) == 1 or is_row) and not accumulate:
        shape = [
            size if axis < axes[0] + len(shape_of(given[0])) else 1
            for axis, size in enumerate(sizes)
        ]
        mask = g.reshape(given[0], [1 if axis < axes[0] else n for axis, n in enumerate(shape)])
        values = g.cast(values, element_type(x))
        values = values if is_row else g.reshape(values, [])
        return g.emit(graph.WhereOp(mask, values, x))
    if any(element_type(ids) not in (i32, i64) for ids in given):
        raise unsupported("a mask, whose number of places depends on data")
    ahead = [axis for axis in range(axes[-1]) if axis not in axes]
    # In the values, the dimensions of the indices replace the indexed ones, or come first.
    adjacent = axes[-1] - axes[0] == len(axes) - 1
    rank = max(len(shape_of(ids)) for ids in given)
    if not adjacent:
        given = [g.reshape(ids, [*shape_of(ids), *[1] * len(ahead)]) for ids in given]
    parts = dict(zip(axes, given, strict=True))
    shape = [*(sizes[axis] for axis in ahead), *[1] * (rank if adjacent else 0)]
    parts |= {axis: g.along(shape, number) for number, axis in enumerate(ahead)}
    leading = range(axes[-1] + 1)
    positions = linear_positions(g, sizes[: len(leading)], [parts[axis] for axis in leading])
    rest = sizes[len(leading) :]
    values = g.expand(g.cast(values, element_type(x)), [*shape_of(positions), *rest])
    return _scatter(g, x, positions, values, prod(rest), accumulate)


def scatter(
    accumulate: bool, g: Emitter, x: SSAValue, dim: int, ids: SSAValue, source: Operand
) -> SSAValue:
    """One element written, or added, per index along a dimension."""
    sizes, wanted = shape_of(x), shape_of(ids)
    if not sizes:
        ids, wanted = g.reshape(ids, [1]), (1,)
        source = g.reshape(source, [1]) if isinstance(source, SSAValue) else source
        return g.reshape(scatter(accumulate, g, g.reshape(x, [1]), 0, ids, source), [])
    dim = normalized_axis(dim, len(sizes))
    source = g.operand(source, element_type(x))
    if shape_of(source):
        for axis, size in enumerate(wanted):
            source = g.slice(source, axis, 0, size)
    source = g.expand(source, wanted)
    if 0 in wanted:
        return x
    ids = g.positions(ids, sizes[dim])
    one_each = all(size == wanted[n] for n, size in enumerate(sizes) if n != dim)
    if wanted[dim] == 1 and one_each and not accumulate:
        return g.emit(graph.WhereOp(g.emit(graph.EqOp(g.along(sizes, dim), ids)), source, x))
    # The linear index, a sum over the dimensions.
    positions: SSAValue | None = None
    for axis, size in enumerate(sizes):
        part = g.cast(ids, i64) if axis == dim else g.along(wanted, axis)
        if positions is not None:
            part = g.emit(graph.AddOp(g.emit(graph.MulOp(positions, g.scalar(size, i64))), part))
        positions = part
    assert positions is not None
    return _scatter(g, x, g.expand(positions, wanted), source, 1, accumulate)


def put(
    g: Emitter, x: SSAValue, ids: SSAValue, source: SSAValue, accumulate: bool = False
) -> SSAValue:
    """Elements written, or added, by their linear index."""
    sizes, count = shape_of(x), prod(shape_of(ids))
    positions = g.positions(g.reshape(ids, [count]), prod(sizes), from_end=True)
    return _scatter(g, x, positions, source, 1, accumulate)


SCATTER: Table = {
    aten.index_put.default: index_put,
    aten._unsafe_index_put.default: index_put,
    aten.scatter.src: partial(scatter, False),
    aten.scatter.value: partial(scatter, False),
    aten.scatter_add.default: partial(scatter, True),
    aten.put.default: put,
}
"""The translations of scatter operators."""
