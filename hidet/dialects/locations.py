"""Source locations of ops, as text."""

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

from hidet.dialects.walking import ops_in, parents_of
from hidet.escape import from_ascii, one_line, to_ascii


def line_location(file: str, line: int) -> FileLineColLoc:
    """Return the location of a line of a file."""
    return FileLineColLoc(StringAttr(to_ascii(file)), IntAttr(line), IntAttr(0))


def file_of(location: FileLineColLoc) -> str:
    """Return the path of a location."""
    return from_ascii(location.filename.data)


def lines_of(location: Attribute) -> list[str]:
    """Return the source lines, `file:line`, of a location."""
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
    """Return the source line of an op as `file:line`, for messages; None if unknown."""
    return next(iter(lines_of(op.location)), None)


def located_near(op: Operation) -> str | None:
    """Return the source line of an op, or of an op around it."""
    return next(filter(None, map(source_line, (op, *parents_of(op)))), None)


def source_lines(op: Operation, limit: int) -> list[str]:
    """Return the source lines, `file:line`, of an op, or of its nested ops."""
    lines = dict.fromkeys(lines_of(op.location))
    if not lines:
        for inner in ops_in(op):
            lines |= dict.fromkeys(lines_of(inner.location))
            if len(lines) >= limit:
                break
    return list(lines)[:limit]
