"""Traversal of the IR: parents, and nested blocks."""

from collections.abc import Iterator
from typing import TypeVar

from xdsl.ir import Block, Operation

Kind = TypeVar("Kind", bound=Operation)


def blocks_in(op: Operation) -> Iterator[Block]:
    """Yield the blocks of the regions of an op."""
    return (block for region in op.regions for block in region.blocks)


def parents_of(op: Operation) -> Iterator[Operation]:
    """Yield the ops around an op, innermost first."""
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()


def parent_of_type(op: Operation, kind: type[Kind]) -> Kind | None:
    """Return the innermost op of a class around an op, None if there is none."""
    return next((parent for parent in parents_of(op) if isinstance(parent, kind)), None)
