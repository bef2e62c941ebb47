"""Inlining of grids into their loads, and of regions in place of their parent op."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.analysis.index_forms import IndexForms
from hidet.dialects.compute import GridOp, LoadOp, YieldOp
from hidet.rewriting.builder import KernelBuilder


def inline_into_loads(grid: GridOp, loads: Iterable[LoadOp] | None = None) -> None:
    """Replace loads of a grid, all or the given ones, by the grid's body at that element.

    Loads of the same element in the same block share one copy, so chains of grids that load their
    producer twice do not grow exponentially. Other users are left alone; a grid without users is
    erased.
    """
    places = places_of(grid, loads)
    is_done = sum(map(len, places)) == grid.result.uses.get_length()
    for place in places:
        builder = KernelBuilder.like(place[0])
        evaluate = builder.unwrap if is_done and place is places[-1] else builder.splice
        (value,) = evaluate(grid.body, place[0].indices)
        value.name_hint = value.name_hint or grid.result.name_hint
        for load in place:
            Rewriter.replace_op(load, [], [value])
    if is_done:
        Rewriter.erase_op(grid)


def places_of(grid: GridOp, loads: Iterable[LoadOp] | None = None) -> list[list[LoadOp]]:
    """Return the loads of a grid, or the given ones, grouped by element and block.

    Elements are compared by the linear forms of their indices. Each group is in program order.
    """
    if loads is None:
        users = (use.operation for use in grid.result.uses)
        loads = [user for user in users if isinstance(user, LoadOp)]
    by_block: defaultdict[Block | None, list[LoadOp]] = defaultdict(list)
    for load in loads:
        by_block[load.parent].append(load)
    return [place for block, inside in by_block.items() for place in _places_in(block, inside)]


def _places_in(block: Block | None, loads: list[LoadOp]) -> list[list[LoadOp]]:
    """Group the loads of a block by element, each group in program order."""
    if len(loads) == 1 or block is None:
        return [loads]
    if len({tuple(load.indices) for load in loads}) == 1:
        form: Callable[[SSAValue], object] = id  # all indices are identical
    else:
        form = IndexForms().form
    wanted = set(loads)
    places: defaultdict[tuple[object, ...], list[LoadOp]] = defaultdict(list)
    for op in block.ops:
        if isinstance(op, LoadOp) and op in wanted:
            places[tuple(map(form, op.indices))].append(op)
    return list(places.values())


def element_at(
    builder: KernelBuilder,
    grid: GridOp,
    indices: Sequence[SSAValue],
    buffers: Mapping[SSAValue, SSAValue],
    known: Mapping[SSAValue, SSAValue],
) -> SSAValue:
    """Evaluate a grid of a fusion at one element inside a kernel.

    `buffers` maps values that the grid reads to those of the kernel, `known` tensors to the element
    that the grid reads, if it is already available.
    """
    values = dict(buffers)
    values.update(zip(grid.indices, indices, strict=True))
    for op in grid.body.block.ops:
        if isinstance(op, LoadOp) and op.source in known:
            values[op.result] = known[op.source]
        elif not isinstance(op, YieldOp):
            builder.insert(op.clone(values))
    return values[grid.yielded]


def inline_region(
    op: Operation, region: Region | None, values: Sequence[SSAValue] = ()
) -> Operation | None:
    """Replace an op by the ops of one of its regions, given its arguments; return the first new op.

    If the region is None or empty, `values` replace the results of the op.
    """
    before, block = op.prev_op, op.parent
    assert block is not None
    if region is not None and region.blocks:
        end = region.block.last_op
        assert end is not None
        Rewriter.inline_block(region.block, InsertPoint.before(op), values)
        values = list(end.operands)
        block.erase_op(end)
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    block.erase_op(op)
    return block.first_op if before is None else before.next_op
