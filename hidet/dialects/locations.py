"""Source locations as text: where in the user's program an operation came from."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute


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
