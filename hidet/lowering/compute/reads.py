"""Producers and consumers of the ops of a function, with views resolved."""

from functools import cache

from xdsl.ir import Block, Operation, SSAValue

from hidet.analysis.grids import is_cheap_to_inline, is_view
from hidet.dialects.compute import GridOp, LoadOp
from hidet.dialects.graph import AnchorOp


class Reads:
    """The reads of the ops of a block."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.order = {op: number for number, op in enumerate(block.ops)}
        self.is_transparent = cache(_is_transparent)

    def sources(self, op: Operation) -> list[SSAValue]:
        """Return the values that an op reads, through views."""
        sources: dict[SSAValue, None] = {}
        for inner in op.walk():
            for value in inner.operands:
                owner = value.owner
                if isinstance(owner, Block):
                    if owner is self.block:
                        sources[value] = None
                elif owner.parent is self.block:
                    if isinstance(owner, GridOp) and self.is_transparent(owner):
                        sources.update(dict.fromkeys(self.sources(owner)))
                    else:
                        sources[value] = None
        return list(sources)

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


def _is_transparent(grid: GridOp) -> bool:
    """Return whether a grid is a view that is copied into each kernel that reads it."""
    users = [use.operation for use in grid.result.uses]
    return (
        is_view(grid)
        and all(isinstance(user, AnchorOp | LoadOp) for user in users)
        and is_cheap_to_inline(grid, len(users))
    )
