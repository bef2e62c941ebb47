"""Source locations: ops that a pass makes get the location of the op that they are made from."""

from collections.abc import Callable, Iterable

from xdsl.dialects.builtin import LocationAttr, UnknownLoc
from xdsl.ir import Operation


def located(ops: Iterable[Operation], location: LocationAttr) -> None:
    """Give a location to those of the ops, and of the ops inside them, that have none yet."""
    for op in ops:
        for inner in op.walk():
            if isinstance(inner.location, UnknownLoc):
                inner.location = location


def location_setter(location: LocationAttr) -> Callable[[Operation], None]:
    """Give a handler for insertions into a builder that gives new ops a location."""

    def handle(op: Operation) -> None:
        located((op,), location)

    return handle
