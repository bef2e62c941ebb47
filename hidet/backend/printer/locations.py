"""Which source lines stand above a kernel, or in an error about an operation."""

from __future__ import annotations

from xdsl.ir import Operation

from hidet.dialects.locations import lines_of


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
