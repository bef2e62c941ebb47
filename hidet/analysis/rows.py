"""Rows: what the grids of a reduction kernel have in common."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation

from hidet.analysis.index_forms import IndexForms
from hidet.dialects.compute import GridOp, LoadOp, ReduceOp

MIN_ROW = 32
"""Shorter reductions (windows of a pooling) are left to one thread each."""

MIN_WINDOWS = 4096
"""So many windows, which share what they read, are left to one thread each, too."""


@dataclass(frozen=True)
class Rows:
    """The rows that a kernel reduces, numbered row-major over the outer domain.

    Attributes:
        count: the number of rows.
        length: the number of elements of a row.
    """

    count: int
    length: int

    @property
    def size(self) -> int:
        """The number of elements of all rows."""
        return self.count * self.length


def row_reduces(grid: GridOp) -> list[ReduceOp]:
    """Return the reductions of a grid's body that are long enough to share among workers.

    Those inside a branch or another reduction are not: every worker has to reach them. Nor are
    windows that slide along the elements of the grid.
    """
    return [
        op
        for op in grid.body.block.ops
        if isinstance(op, ReduceOp) and prod(op.shape) >= MIN_ROW and not _slides(grid, op)
    ]


def has_windows(grid: GridOp) -> bool:
    """Return whether a grid reduces windows as long as rows, one thread each."""
    return any(
        isinstance(op, ReduceOp) and prod(op.shape) >= MIN_ROW and _slides(grid, op)
        for op in grid.body.block.ops
    )


def _slides(grid: GridOp, reduce: ReduceOp) -> bool:
    """Return whether elements of a grid reduce windows along the dimensions of another tensor.

    There, a position is one of the grid and one in the window, as in x[y + dy].
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
    """Return the rows that a grid reduces; None where it reduces none, or of several lengths."""
    lengths = {prod(reduce.shape) for reduce in row_reduces(grid)}
    if len(lengths) != 1 or prod(grid.shape) == 0:
        return None
    return Rows(prod(grid.shape), lengths.pop())


def rows_of(ops: Iterable[Operation]) -> Rows | None:
    """Return the rows that all reducing grids among the ops share; None where they have none."""
    found = {rows_of_grid(op) for op in ops if isinstance(op, GridOp) and row_reduces(op)}
    return found.pop() if len(found) == 1 else None
