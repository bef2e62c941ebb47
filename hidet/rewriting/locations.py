"""Propagation of source locations to newly created ops."""

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any, Self

from typing_extensions import override
from xdsl.builder import Builder, InsertOpInvT
from xdsl.dialects.builtin import LocationAttr, UnknownLoc
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint

from hidet.dialects.walking import ops_in


def located(ops: Iterable[Operation], location: LocationAttr) -> None:
    """Set the location of those ops, nested ones included, that have none."""
    for op in ops:
        for inner in ops_in(op):
            if type(inner.location) is UnknownLoc:
                inner.location = location


def location_setter(location: LocationAttr) -> Callable[[Operation], None]:
    """Return a builder insertion handler that sets the location of new ops."""

    def handle(op: Operation) -> None:
        if op.regions:
            located((op,), location)
        elif type(op.location) is UnknownLoc:
            op.location = location

    return handle


class LocatedBuilder(Builder):
    """A builder whose ops get the location of the op after them, or of the op around the block."""

    def __init__(self, at: InsertPoint) -> None:
        super().__init__(at)
        if (near := at.insert_before or at.block.parent_op()) is not None:
            self._locate_at(near)

    @override
    def insert(self, op: InsertOpInvT, insertion_point: InsertPoint | None = None) -> InsertOpInvT:
        """Insert an op or ops; the builder has no name hint, and none is implicit."""
        at = insertion_point or self.insertion_point
        ops: Any = op if isinstance(op, list | tuple) else (op,)
        for each in ops:
            if at.insert_before is None:
                at.block.add_op(each)
            else:
                at.block.insert_op_before(each, at.insert_before)
            self.handle_operation_insertion(each)
        return op

    @classmethod
    def like(cls, op: Operation, at: InsertPoint | None = None) -> Self:
        """Return a builder at an insertion point, by default before an op; it sets its location."""
        builder = cls(at or InsertPoint.before(op))
        builder._locate_at(op)
        return builder

    @contextmanager
    def located_like(self, op: Operation) -> Generator[None]:
        """Give what is built in a `with` block the location of an op."""
        before = self.operation_insertion_handler
        self._locate_at(op)
        yield
        self.operation_insertion_handler = before

    def _locate_at(self, op: Operation) -> None:
        self.operation_insertion_handler = [location_setter(op.location)]
