"""Source locations as text: where in the user's program an operation came from."""

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    NameLoc,
    StringAttr,
)
from xdsl.ir import Attribute, Operation

from hidet.dialects.walking import parents_of
from hidet.escape import from_ascii, one_line, to_ascii


def line_location(file: str, line: int) -> FileLineColLoc:
    """Return the location of a line of a file."""
    return FileLineColLoc(StringAttr(to_ascii(file)), IntAttr(line), IntAttr(0))


def file_of(location: FileLineColLoc) -> str:
    """Return the path of the file that a location is in."""
    return from_ascii(location.filename.data)


def lines_of(location: Attribute) -> list[str]:
    """Return the source lines, `file:line`, that a location names; none where it is unknown."""
    match location:
        case FileLineColLoc():
            return [f"{one_line(file_of(location))}:{location.line.data}"]
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
    return next(filter(None, map(source_line, (op, *parents_of(op)))), None)


def source_lines(op: Operation, limit: int) -> list[str]:
    """Return the lines, `file:line`, that an operation or those inside it came from.

    Args:
        op: the operation; where it has no location of its own, those inside are asked.
        limit: the largest number of lines to return.
    """
    lines = dict.fromkeys(lines_of(op.location))
    if not lines:
        for inner in op.walk():
            lines |= dict.fromkeys(lines_of(inner.location))
            if len(lines) >= limit:
                break
    return list(lines)[:limit]
