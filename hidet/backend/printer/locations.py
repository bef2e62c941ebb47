"""Source locations as text: where in the user's program an operation came from."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute, Operation


def source_lines(op: Operation, limit: int) -> list[str]:
    """Return the lines, `file:line`, that an operation or those inside it came from.

    Args:
        op: the operation; where it has no location of its own, those inside are asked.
        limit: the largest number of lines to return.
    """
    lines = dict.fromkeys(_lines_of(op.location))
    if not lines:
        for inner in op.walk():
            lines |= dict.fromkeys(_lines_of(inner.location))
            if len(lines) >= limit:
                break
    return list(lines)[:limit]


def _lines_of(location: Attribute) -> list[str]:
    """Return the lines that a location names."""
    match location:
        case FileLineColLoc():
            return [f"{location.filename.data}:{location.line.data}"]
        case NameLoc():
            return _lines_of(location.location)
        case CallSiteLoc():
            return _lines_of(location.callee) or _lines_of(location.caller)
        case FusedLoc(locations=ArrayAttr() as parts):
            return [line for part in parts for line in _lines_of(part)]
        case _:
            return []
