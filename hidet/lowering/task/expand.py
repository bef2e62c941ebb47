"""Expansion of tile copies to loops, for `inline-compute` (views) and `lower-task`."""

from xdsl.dialects.builtin import DYNAMIC_INDEX, UnitAttr
from xdsl.rewriter import Rewriter

from hidet.dialects.compute import LoadOp, StoreOp
from hidet.dialects.shaped import element_of, shape_of
from hidet.dialects.task import CopyOp, ForeachOp
from hidet.dialects.task.marks import ASYNC
from hidet.mapping import TaskMap
from hidet.rewriting.builder import KernelBuilder


def expand_copy(op: CopyOp, part: TaskMap | None = None, first: int = 0) -> None:
    """Replace a copy by the foreach that makes it element by element.

    Reads out of bounds yield zero, writes out of bounds are dropped. The guard surrounds the
    evaluation of the element, so views are evaluated in bounds only. `part` is the map of a slice
    of the columns that starts at column `first`.
    """
    builder = KernelBuilder.like(op)
    reads, other, offsets = op.reads, op.other, op.offsets
    sizes = iter(op.sizes)
    extents = [next(sizes) if extent == DYNAMIC_INDEX else extent for extent in shape_of(other)]
    tasks = part or (op.tile if op.map is None else op.tasks)
    foreach = builder.insert(ForeachOp(tasks, op.worker))
    if op.is_async is not None:
        foreach.attributes[ASYNC] = UnitAttr()
    with builder.inside(foreach.body.block):
        *rows, column = foreach.indices
        element = [*rows, builder.index(builder.add(column, first))]
        lead = len(offsets) - len(element)
        place = list(offsets[:lead]) + [
            builder.index(builder.add(offset, index))
            for offset, index in zip(offsets[lead:], element, strict=True)
        ]
        # Leading dimensions are always in bounds.
        bounds = zip(place[lead:], extents[lead:], strict=True)
        inside = builder.all_of([builder.less(index, extent) for index, extent in bounds])
        if reads:
            value = builder.choose(
                inside,
                lambda: builder.insert(LoadOp(other, place)).result,
                lambda: builder.scalar(0, element_of(other)),
            )
            builder.store(value, op.target, [*op.tile_offsets, *element])
        else:
            with builder.when(inside):
                value = builder.load(op.source, [*op.tile_offsets, *element])
                builder.insert(StoreOp(value, other, place))
    Rewriter.erase_op(op)
