"""Source locations as text: where in the user's program an operation came from."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute, Operation


def lines_of(location: Attribute) -> list[str]:
    """Return the source lines, `file:line`, that a location names; none where it is unknown."""
    match location:
        case FileLineColLoc():
            return [f"{location.filename.data}:{location.line.data}"]
        case NameLoc():
            return lines_of(location.location)
        case CallSiteLoc():
            return lines_of(location.callee) or lines_of(location.caller)
        case FusedLoc(locations=ArrayAttr() as parts):
            return [line for part in parts for line in lines_of(part)]
        case _:
            return []


def source_line(op: Operation) -> str | None:
    """Name the source line that an op came from as `file:line`, for messages; None if unknown."""
    return next(iter(lines_of(op.location)), None)


def located_near(op: Operation) -> str | None:
    """Return the source line of an op, else of an op around it."""
    current: Operation | None = op
    while current is not None:
        line = source_line(current)
        if line is not None:
            return line
        current = current.parent_op()
    return None
