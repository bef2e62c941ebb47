"""Replacing loads of a grid by its body."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.analysis.index_forms import IndexForms
from hidet.dialects.compute import GridOp, LoadOp, YieldOp
from hidet.rewriting.builder import KernelBuilder


def inline_into_loads(grid: GridOp, loads: Iterable[LoadOp] | None = None) -> None:
    """Replace loads of a grid by the grid's body at that element: all of them, or those given.

    Loads of one element in one block share a copy, so that a chain of grids that each load their
    predecessor twice does not cost a power of two. Other users of the grid are left alone; a grid
    that has none is erased.
    """
    places = places_of(grid, loads)
    is_done = sum(map(len, places)) == grid.result.uses.get_length()
    for place in places:
        builder = KernelBuilder(InsertPoint.before(place[0]))
        evaluate = builder.unwrap if is_done and place is places[-1] else builder.splice
        (value,) = evaluate(grid.body, place[0].indices)
        value.name_hint = value.name_hint or grid.result.name_hint
        for load in place:
            Rewriter.replace_op(load, [], [value])
    if is_done:
        Rewriter.erase_op(grid)


def places_of(grid: GridOp, loads: Iterable[LoadOp] | None = None) -> list[list[LoadOp]]:
    """Return the loads of a grid, or those of them that are given, one list for each place.

    A place is an element, by the forms of its indices, in a block. The first load of a list is the
    first in the block.
    """
    if loads is None:
        users = (use.operation for use in grid.result.uses)
        loads = [user for user in users if isinstance(user, LoadOp)]
    by_block: defaultdict[Block | None, list[LoadOp]] = defaultdict(list)
    for load in loads:
        by_block[load.parent].append(load)
    return [place for block, inside in by_block.items() for place in _places_in(block, inside)]


def _places_in(block: Block | None, loads: list[LoadOp]) -> list[list[LoadOp]]:
    """Part the loads of a block by their element, each part in program order."""
    if len(loads) == 1 or block is None:
        return [loads]
    if len({tuple(load.indices) for load in loads}) == 1:
        form: Callable[[SSAValue], object] = id  # there is nothing to find out
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
    """Evaluate a grid of a fusion at one element, in a kernel.

    Args:
        builder: where to.
        grid: the grid.
        indices: those of the element.
        buffers: what the kernel has for values that the grid reads.
        known: the element that is read, of tensors of which it is known already.
    """
    values = dict(buffers)
    values.update(zip(grid.indices, indices, strict=True))
    for op in grid.body.block.ops:
        if isinstance(op, LoadOp) and op.source in known:
            values[op.result] = known[op.source]
        elif not isinstance(op, YieldOp):
            builder.insert(op.clone(values))
    return values[grid.yielded]
