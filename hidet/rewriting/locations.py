"""Propagation of source locations to newly created ops."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Self

from typing_extensions import override
from xdsl.builder import Builder, InsertOpInvT
from xdsl.dialects.builtin import LocationAttr, UnknownLoc
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint

from hidet.dialects.walking import ops_in


def locate(op: Operation, location: LocationAttr) -> None:
    """Set the location of an op, and of those in its regions, unless they have one."""
    for each in ops_in(op) if op.regions else (op,):
        if type(each.location) is UnknownLoc:
            each.location = location


class LocatedBuilder(Builder):
    """A builder whose ops get the location of the op after them, or of the op around the block."""

    location: LocationAttr
    """The location of new ops that have none."""

    def __init__(self, at: InsertPoint) -> None:
        super().__init__(at)
        near = at.insert_before or at.block.parent_op()
        self.location = UnknownLoc() if near is None else near.location

    @override
    def insert(self, op: InsertOpInvT, insertion_point: InsertPoint | None = None) -> InsertOpInvT:
        """Insert an op or ops; the builder has no listeners, and no name hint."""
        at = insertion_point or self.insertion_point
        ops: Any = op if isinstance(op, list | tuple) else (op,)
        for each in ops:
            if at.insert_before is None:
                at.block.add_op(each)
            else:
                at.block.insert_op_before(each, at.insert_before)
            self.locate(each)
        return op

    def locate(self, op: Operation) -> None:
        """Set the location of a new op, and of those in its regions, unless they have one."""
        locate(op, self.location)

    @classmethod
    def like(cls, op: Operation, at: InsertPoint | None = None) -> Self:
        """Return a builder at an insertion point, by default before an op; it sets its location."""
        builder = cls(at or InsertPoint.before(op))
        builder.location = op.location
        return builder

    @contextmanager
    def located_like(self, op: Operation) -> Generator[None]:
        """Give what is built in a `with` block the location of an op."""
        before, self.location = self.location, op.location
        yield
        self.location = before
