"""Walking through a program: from an operation to those around it, and to its blocks."""

from collections.abc import Iterator
from typing import TypeVar

from xdsl.ir import Block, Operation

Kind = TypeVar("Kind", bound=Operation)


def blocks_in(op: Operation) -> Iterator[Block]:
    """Give the blocks of the regions of an operation."""
    return (block for region in op.regions for block in region.blocks)


def parents_of(op: Operation) -> Iterator[Operation]:
    """Give the operations around one, the innermost first."""
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()


def parent_of_type(op: Operation, kind: type[Kind]) -> Kind | None:
    """Return the innermost operation of a class around one, None where there is none."""
    return next((parent for parent in parents_of(op) if isinstance(parent, kind)), None)
