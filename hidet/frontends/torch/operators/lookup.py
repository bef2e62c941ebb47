"""ATen gather operators."""

from collections.abc import Sequence
from math import prod

import torch
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from hidet.dialects import graph
from hidet.dialects.graph.base import broadcast_shapes, element_type, normalized_axis, shape_of
from hidet.frontends.torch.operators.emitter import Emitter, Table, unsupported

aten = torch.ops.aten


def embedding(
    g: Emitter,
    table: SSAValue,
    ids: SSAValue,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> SSAValue:
    """An embedding; the other arguments only affect gradients."""
    return g.emit(graph.EmbeddingOp(table, g.positions(ids, shape_of(table)[0])))


def index_select(g: Emitter, x: SSAValue, dim: int, ids: SSAValue) -> SSAValue:
    """Slices along a dimension; a scalar has one index."""
    if not shape_of(x):
        return g.reshape(index_select(g, g.reshape(x, [1]), 0, g.reshape(ids, [1])), [])
    return g.emit(graph.IndexSelectOp(x, _checked(g, x, dim, ids), dim))


def gather(
    g: Emitter, x: SSAValue, dim: int, ids: SSAValue, *, sparse_grad: bool = False
) -> SSAValue:
    """One element per index."""
    return g.emit(graph.GatherOp(x, _checked(g, x, dim, ids), dim))


def _checked(g: Emitter, x: SSAValue, dim: int, ids: SSAValue) -> SSAValue:
    """Check indices into a dimension of x."""
    sizes = shape_of(x)
    return g.positions(ids, sizes[normalized_axis(dim, len(sizes))])


def index(g: Emitter, x: SSAValue, indices: Sequence[SSAValue | None]) -> SSAValue:
    """Advanced indexing, `x[i, :, j]`, with index tensors that broadcast to one shape.

    The indexed dimensions are moved to the front and flattened, so that one `index_select` reads
    all elements; then the dimensions of the indices replace the indexed dimensions, or come first
    if those are not adjacent.
    """
    sizes = shape_of(x)
    axes = [axis for axis, ids in enumerate(indices) if ids is not None]
    others = [axis for axis in range(len(sizes)) if axis not in axes]
    positions = linear_positions(
        g, [sizes[axis] for axis in axes], [ids for ids in indices if ids is not None]
    )
    wanted = shape_of(positions)

    flat = g.permute(x, [*axes, *others])
    flat = g.reshape(flat, [prod(sizes[axis] for axis in axes), *(sizes[a] for a in others)])
    result = g.emit(graph.IndexSelectOp(flat, g.reshape(positions, [prod(wanted)]), 0))
    result = g.reshape(result, [*wanted, *(sizes[axis] for axis in others)])

    adjacent = axes[-1] - axes[0] == len(axes) - 1
    front = axes[0] if adjacent else 0
    rank = len(wanted)
    before = range(rank, rank + front)
    after = range(rank + front, rank + len(others))
    return g.permute(result, [*before, *range(rank), *after])


def linear_positions(g: Emitter, sizes: Sequence[int], indices: Sequence[SSAValue]) -> SSAValue:
    """Linearize indices into several dimensions, in row-major order.

    Ranges cover a dimension, and need no check.
    """
    shape = broadcast_shapes("index", *(shape_of(ids) for ids in indices))
    element = i64 if i64 in map(element_type, indices) else element_type(indices[0])
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
