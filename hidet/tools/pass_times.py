"""The table of `hidet-opt --time-passes`."""

from dataclasses import dataclass

from xdsl.ir import Operation


@dataclass(frozen=True)
class PassTime:
    """The time of a pass, and the number of operations before and after it."""

    name: str
    seconds: float
    ops_before: int
    ops_after: int


def count_operations(op: Operation) -> int:
    """Return the number of operations in `op`, including itself."""
    return sum(1 for _ in op.walk())


def format_pass_times(times: list[PassTime]) -> str:
    """Format the times as a table with a total."""
    total = sum(time.seconds for time in times)
    rows = [("pass", "ms", "%", "ops before", "ops after")]
    for time in times:
        share = 100 * time.seconds / total if total else 0.0
        rows.append(
            (
                time.name,
                f"{time.seconds * 1e3:.2f}",
                f"{share:.1f}",
                str(time.ops_before),
                str(time.ops_after),
            )
        )
    rows.append(("total", f"{total * 1e3:.2f}", "", "", ""))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        ).rstrip()
        for row in rows
    )
