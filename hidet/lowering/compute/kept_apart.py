"""Which grids an anchor's epilogue leaves to what reads them, as that reads their source anyway."""

from collections.abc import Mapping
from heapq import heapify, heappop, heappush

from xdsl.ir import Block, Operation

from hidet.analysis.grids import is_cheap_again, loads_of
from hidet.dialects.compute import GridOp
from hidet.dialects.graph import ConstantOp
from hidet.lowering.compute.fusion_groups import Group, may_join
from hidet.lowering.compute.reads import Reads


def is_better_apart(
    grid: GridOp, group: Group, reads: Reads, groups: Mapping[Operation, Group]
) -> bool:
    """Return whether a grid that may join the group of an anchor should not.

    It is so where one other grid alone reads it, which cannot join, and all that it reads of the
    group is stored for others in any case: to compute it there costs less than to write and read
    it. So it is with the squares that a norm adds up.

    Args:
        grid: the grid.
        group: the group of an anchor.
        reads: what reads what.
        groups: the groups of all ops that have one by now.
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
    """Return what reads a group that a grid has joined, and will not join it itself."""
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
        makers = {value.owner for value in reads.sources(op)} - trial.ops.keys()
        late = any(_is_late(maker, group, groups) for maker in makers)
        if isinstance(op, GridOp) and op not in groups and not late and may_join(op, trial):
            trial.ops[op] = None
            for reader in reads.readers(op.result).keys() - seen:
                seen.add(reader)
                heappush(pending, reads.order[reader])
        else:
            outside.add(op)
    return outside


def _is_late(maker: Operation | Block, group: Group, groups: Mapping[Operation, Group]) -> bool:
    """Return whether what an op reads is made after a group, so that the op cannot join that."""
    if isinstance(maker, Block | ConstantOp):
        return False
    return maker not in groups or groups[maker].number > group.number
