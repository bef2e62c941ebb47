"""A bound on the code growth of fusions, which could be exponential for chains of grids."""

from collections.abc import Collection

from xdsl.ir import Operation

from hidet.analysis.grids import loads_of
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.linear_index import linear_index, linear_index_of_load
from hidet.dialects.compute import GridOp

MAX_GROWTH = 4
"""The most copies of a member of a fusion in its consumers, on average."""


def grows_little(grid: GridOp, members: Collection[Operation]) -> bool:
    """Return whether a grid stays small after the members of its group are inlined into it.

    Members that are read in order are inlined once, however many consumers they have; others are
    inlined once per distinct index, with everything that they read.
    """
    sizes = {grid: _size(grid)}
    whole: dict[GridOp, int] = {}

    def inlined(top: GridOp) -> int:
        """Return the operations of a grid and of all that is inlined into it."""
        if top in whole:
            return whole[top]
        total, seen, pending = 0, {top}, [top]
        while pending:
            reader = pending.pop()
            sizes[reader] = _size(reader)
            total += sizes[reader]
            for member, in_order in _reads(reader, members):
                if not in_order:
                    total += inlined(member)
                elif member not in seen:
                    seen.add(member)
                    pending.append(member)
        whole[top] = total
        return total

    return inlined(grid) <= MAX_GROWTH * sum(sizes.values())


def _size(grid: GridOp) -> int:
    return sum(1 for _ in grid.walk())


def _reads(grid: GridOp, members: Collection[Operation]) -> list[tuple[GridOp, bool]]:
    """Return the members that a grid reads, once per index, and whether the read is in order.

    It is in order if the linear index is the grid's own and the load is unconditional.
    """
    forms = IndexForms()
    block = grid.body.block
    own = linear_index(forms, grid.indices, grid.shape, block)
    reads: dict[tuple[object, ...], tuple[GridOp, bool]] = {}
    for load in loads_of(grid):
        member = load.source.owner
        if isinstance(member, GridOp) and member in members:
            number = linear_index_of_load(forms, load)
            reads[member, load.parent, number] = (member, load.parent is block and number == own)
    return list(reads.values())
