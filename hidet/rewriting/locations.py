"""Propagation of source locations to newly created ops."""

from collections.abc import Callable, Iterable

from xdsl.dialects.builtin import LocationAttr, UnknownLoc
from xdsl.ir import Operation


def located(ops: Iterable[Operation], location: LocationAttr) -> None:
    """Set the location of those ops, nested ones included, that have none."""
    for op in ops:
        for inner in op.walk():
            if isinstance(inner.location, UnknownLoc):
                inner.location = location


def location_setter(location: LocationAttr) -> Callable[[Operation], None]:
    """Return a builder insertion handler that sets the location of new ops."""

    def handle(op: Operation) -> None:
        located((op,), location)

    return handle
