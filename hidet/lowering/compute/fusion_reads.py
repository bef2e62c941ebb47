"""What the ops of a function read, for `fuse`."""

from functools import cache

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from hidet.analysis.grids import is_cheap, is_cheap_to_inline, is_view, loads_of
from hidet.dialects.compute import GridOp, LoadOp
from hidet.dialects.graph import AnchorOp
from hidet.dialects.shaped import nbytes_of, size_of
from hidet.dialects.walking import ops_in
from hidet.lowering.compute.fusion_groups import reads_once

MANY = 16
"""The fewest elements for each of which a grid that is repeated reads a number that is computed."""


class Reads:
    """The reads of the ops of a block."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.order = {op: number for number, op in enumerate(block.ops)}
        self.is_transparent = cache(self._is_transparent)

    def direct_sources(self, op: Operation) -> list[SSAValue]:
        """Return the values of the block that an op reads."""
        return [
            value
            for inner in ops_in(op)
            for value in inner.operands
            if (owner := value.owner) is self.block or owner.parent is self.block
        ]

    def sources(self, op: Operation) -> list[SSAValue]:
        """Return the values that an op reads, through views."""
        sources: dict[SSAValue, None] = {}
        for value in self.direct_sources(op):
            if isinstance(value.owner, GridOp) and self.is_transparent(value.owner):
                sources.update(dict.fromkeys(self.sources(value.owner)))
            else:
                sources[value] = None
        return list(sources)

    def _is_transparent(self, grid: GridOp) -> bool:
        """Return whether a grid is copied into each kernel that reads it."""
        return _is_cheap_view(grid) or self._is_repeated(grid)

    def _is_repeated(self, grid: GridOp) -> bool:
        """Return whether several grids compute a cheap one from arguments, each for itself.

        They then load about as much as if it was stored. An example is what a layer norm normalized
        in the forward pass. A few numbers, as the means of rows, may be computed by other kernels.
        """
        readers = self.readers(grid.result)
        loaded = dict.fromkeys(load.source for load in loads_of(grid))
        return (
            len(readers) > 1
            and is_cheap(grid)
            and all(
                isinstance(source, BlockArgument) or MANY * size_of(source) <= size_of(grid.result)
                for source in loaded
            )
            and 8 * sum(map(nbytes_of, loaded)) <= 9 * nbytes_of(grid.result)
            and all(isinstance(each, GridOp) and reads_once(each, grid) for each in readers)
        )

    def readers(self, value: SSAValue) -> dict[Operation, None]:
        """Return the ops of the block that read a value, through views."""
        readers: dict[Operation, None] = {}
        for use in value.uses:
            user = self.block.find_ancestor_op_in_block(use.operation)
            if isinstance(user, GridOp) and self.is_transparent(user):
                readers.update(self.readers(user.result))
            elif user is not None:
                readers[user] = None
        return readers


def _is_cheap_view(grid: GridOp) -> bool:
    """Return whether a grid is a view that is cheap to inline into all that reads it."""
    users = [use.operation for use in grid.result.uses]
    return (
        is_view(grid)
        and all(isinstance(user, AnchorOp | LoadOp) for user in users)
        and is_cheap_to_inline(grid, len(users))
    )
