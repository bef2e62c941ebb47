"""The rows that the grids of a reduction kernel share."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation

from hidet.analysis.index_forms import IndexForms
from hidet.dialects.compute import GridOp, LoadOp, ReduceOp

MIN_ROW = 32
"""Shorter reductions, such as pooling windows, are computed by one thread each."""

MIN_WINDOWS = 4096
"""From this number on, overlapping windows are computed by one thread each, too."""


@dataclass(frozen=True)
class Rows:
    """The rows that a kernel reduces, in row-major order of the outer domain.

    Attributes:
        count: the number of rows.
        length: the number of elements of a row.
    """

    count: int
    length: int

    @property
    def size(self) -> int:
        """The total number of elements."""
        return self.count * self.length


def row_reduces(grid: GridOp) -> list[ReduceOp]:
    """Return the reductions of a grid that are long enough to be computed cooperatively.

    Those inside a branch or another reduction are excluded, since every worker must reach them, and
    so are sliding windows.
    """
    return [
        op
        for op in grid.body.block.ops
        if isinstance(op, ReduceOp) and prod(op.shape) >= MIN_ROW and not _slides(grid, op)
    ]


def has_windows(grid: GridOp) -> bool:
    """Return whether a grid reduces long sliding windows, with one thread each."""
    return any(
        isinstance(op, ReduceOp) and prod(op.shape) >= MIN_ROW and _slides(grid, op)
        for op in grid.body.block.ops
    )


def _slides(grid: GridOp, reduce: ReduceOp) -> bool:
    """Return whether a reduction is over windows that slide with the elements of the grid.

    Some loaded index then depends on both the grid and the window, as in x[y + dy].
    """
    if prod(grid.shape) < MIN_WINDOWS:
        return False
    forms = IndexForms()
    return any(
        any(form.depends_on(index) for index in grid.indices)
        and any(form.depends_on(index) for index in reduce.indices)
        for load in reduce.walk()
        if isinstance(load, LoadOp)
        for form in map(forms.form, load.indices)
    )


def rows_of_grid(grid: GridOp) -> Rows | None:
    """Return the rows that a grid reduces; None if it has none, or several lengths."""
    lengths = {prod(reduce.shape) for reduce in row_reduces(grid)}
    if len(lengths) != 1 or prod(grid.shape) == 0:
        return None
    return Rows(prod(grid.shape), lengths.pop())


def rows_of(ops: Iterable[Operation]) -> Rows | None:
    """Return the rows that all reducing grids among the ops share; None if they differ."""
    found = {rows_of_grid(op) for op in ops if isinstance(op, GridOp) and row_reduces(op)}
    return found.pop() if len(found) == 1 else None
