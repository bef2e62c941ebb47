"""The cost model for recomputing an epilogue in its consumer."""

from collections.abc import Mapping
from heapq import heapify, heappop, heappush

from xdsl.ir import Block, Operation

from hidet.analysis.grids import is_cheap_again, loads_of
from hidet.dialects.compute import GridOp
from hidet.dialects.graph import ConstantOp
from hidet.lowering.compute.fusion_groups import Group, may_join
from hidet.lowering.compute.reads import Reads


def is_better_recomputed(
    grid: GridOp, group: Group, reads: Reads, groups: Mapping[Operation, Group]
) -> bool:
    """Return whether a grid should be recomputed in its consumer, not join an anchor's group.

    This is so if its only consumer is a grid that cannot join, and all members of the group that it
    reads are stored for others anyway: recomputing is then cheaper than a store and a load. An
    example are the squares that a norm sums up.
    """
    readers = reads.readers(grid.result)
    if len(readers) != 1 or not is_cheap_again(grid):
        return False
    sources = {load.source for load in loads_of(grid) if group.holds(load.source)}
    others = [reads.readers(source).keys() - {grid} for source in sources]
    if not all(others) or not all(isinstance(each, GridOp) for each in readers):
        return False
    outside = _readers_outside(grid, group, reads, groups)
    return readers.keys() <= outside and not any(map(outside.isdisjoint, others))


def _readers_outside(
    grid: GridOp, group: Group, reads: Reads, groups: Mapping[Operation, Group]
) -> set[Operation]:
    """Return the readers of a group with a grid added that cannot join it."""
    trial = Group(group.number, group.kind, {**group.ops, grid: None})
    outside: set[Operation] = set()
    pending: list[int] = []
    ops = {number: op for op, number in reads.order.items()}
    seen = set(trial.ops)
    for member in trial.ops:
        fresh = reads.readers(member.results[0]).keys() - seen
        seen |= fresh
        pending.extend(reads.order[op] for op in fresh)
    heapify(pending)
    while pending:
        op = ops[heappop(pending)]
        producers = {value.owner for value in reads.sources(op)} - trial.ops.keys()
        late = any(_is_later(producer, group, groups) for producer in producers)
        if isinstance(op, GridOp) and op not in groups and not late and may_join(op, trial):
            trial.ops[op] = None
            for reader in reads.readers(op.result).keys() - seen:
                seen.add(reader)
                heappush(pending, reads.order[reader])
        else:
            outside.add(op)
    return outside


def _is_later(producer: Operation | Block, group: Group, groups: Mapping[Operation, Group]) -> bool:
    """Return whether a producer comes after a group, so that its consumer cannot join the group."""
    if isinstance(producer, Block | ConstantOp):
        return False
    return producer not in groups or groups[producer].number > group.number
