"""The rows that grids reduce, and how their elements are numbered."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from math import prod
from typing import Any

from xdsl.ir import Operation, SSAValue

from hidet.analysis.algebra import FormAlgebra
from hidet.analysis.forms import LinearForm
from hidet.analysis.grids import (
    has_reduction,
    is_view,
    linear_index,
    linear_index_of_load,
    loads_of,
)
from hidet.analysis.index_forms import IndexForms
from hidet.dialects.compute import GridOp, LoadOp, ReduceOp
from hidet.dialects.shaped import size_of
from hidet.dialects.walking import ops_of_class

MIN_ROW = 32
"""Shorter reductions, such as pooling windows, are computed by one thread each."""

MIN_WINDOWS = 4096
"""From this number on, overlapping windows are computed by one thread each, too."""

MIN_SEARCHES = 1 << 16
"""From this number on, so are reductions that all read the same elements."""


@dataclass(frozen=True)
class Rows:
    """The rows that a kernel reduces, in row-major order of the outer domain.

    Adjacent elements of a row are `stride` elements apart in tensors of all elements, and so many
    rows are side by side: 1 for the rows of a matrix, the number of columns for its columns.
    """

    count: int
    length: int
    stride: int = 1

    @property
    def size(self) -> int:
        """The total number of elements."""
        return self.count * self.length

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of all elements: outer rows, the length of a row, inner rows."""
        return self.count // self.stride, self.length, self.stride

    def element(self, algebra: FormAlgebra, row: LinearForm, at: LinearForm) -> LinearForm:
        """Return the linear index, among all elements, of that at a place in a row."""
        outer = algebra.add(at, algebra.floordiv(row, self.stride), self.length)
        return algebra.add(algebra.mod(row, self.stride), outer, self.stride)

    def row(self, algebra: FormAlgebra, element: LinearForm) -> LinearForm:
        """Return the row of an element with a linear index."""
        outer = algebra.floordiv(element, self.length * self.stride)
        return algebra.add(algebra.mod(element, self.stride), outer, self.stride)


def row_reduces(grid: GridOp) -> list[ReduceOp]:
    """Return the reductions of a grid that are long enough to be computed cooperatively.

    Those inside a branch or another reduction are excluded, since every worker must reach them, and
    so are those that one thread computes each.
    """
    return [op for op in _long_reduces(grid) if not _is_of_thread(grid, op)]


def is_serial(grid: GridOp) -> bool:
    """Return whether a grid has long reductions that one thread computes each."""
    return any(_is_of_thread(grid, op) for op in _long_reduces(grid))


def _long_reduces(grid: GridOp) -> list[ReduceOp]:
    """Return the long reductions of a grid, which are not inside of others, or of branches."""
    reduces = (op for op in grid.body.block.ops if isinstance(op, ReduceOp))
    return [op for op in reduces if prod(op.shape) >= MIN_ROW]


def _is_of_thread(grid: GridOp, reduce: ReduceOp) -> bool:
    return _slides(grid, reduce) or _searches(grid, reduce)


def _searches(grid: GridOp, reduce: ReduceOp) -> bool:
    """Return whether many reductions all read the same elements, beside one of their own each.

    An example is whether x[y] is one of all t[r].
    """
    if prod(grid.shape) < MIN_SEARCHES:
        return False
    forms = IndexForms()
    domains = set(grid.indices), set(reduce.indices)
    places = chain.from_iterable(_leaves(forms, load) for load in ops_of_class(reduce, LoadOp))
    return all(any(domain.issuperset(leaves) for domain in domains) for leaves in places)


def _leaves(forms: IndexForms, load: LoadOp) -> Iterator[set[Any]]:
    """Yield what the place of each element depends on that a load needs, through grids."""
    grid = load.source.owner
    if not isinstance(grid, GridOp) or has_reduction(grid):
        yield set(linear_index_of_load(forms, load).leaves())
        return
    own = dict(zip(grid.indices, map(forms.form, load.indices), strict=True))
    for inner in loads_of(grid):
        for leaves in _leaves(forms, inner):
            places = (own[leaf].leaves() if leaf in own else (leaf,) for leaf in leaves)
            yield set(chain.from_iterable(places))


def _slides(grid: GridOp, reduce: ReduceOp) -> bool:
    """Return whether a reduction is over windows that slide with the elements of the grid.

    Some loaded index then depends on both the grid and the window, as in x[y + dy]; but windows
    that do not overlap are rows, as in x[8 * y + dy] for dy below 8.
    """
    if prod(grid.shape) < MIN_WINDOWS:
        return False
    forms = IndexForms()
    return any(
        any(form.depends_on(index) for index in grid.indices)
        and any(form.depends_on(index) for index in reduce.indices)
        for load in ops_of_class(reduce, LoadOp)
        if not _is_disjoint(forms, load, grid, reduce)
        for form in map(forms.form, load.indices)
    )


def _is_disjoint(forms: IndexForms, load: LoadOp, grid: GridOp, reduce: ReduceOp) -> bool:
    """Return whether a load reads an element for one place of a window only.

    Each stride of its linear index is then beyond the reach of the smaller ones. Digits of places,
    as r / 8 and r % 8, count as places of their own.
    """
    domains = set(grid.indices), set(reduce.indices)
    digits: list[tuple[int, int]] = []
    for atom, stride in linear_index_of_load(forms, load).terms.items():
        digit = LinearForm.of(atom)
        limits = forms.range(digit)
        if limits is None or not any(domain.issuperset(digit.leaves()) for domain in domains):
            return False
        digits.append((abs(stride), limits.hi - limits.lo))
    reach = 0
    for stride, most in sorted(digits):
        if stride <= reach:
            return False
        reach += stride * most
    return True


def rows_of_grid(grid: GridOp) -> Rows | None:
    """Return the rows that a grid reduces; None if it has none, or several lengths."""
    lengths = {prod(reduce.shape) for reduce in row_reduces(grid)}
    if len(lengths) != 1 or prod(grid.shape) == 0:
        return None
    return Rows(prod(grid.shape), lengths.pop())


def rows_of(ops: Iterable[Operation]) -> Rows | None:
    """Return the rows that all reducing grids among the ops share; None if they differ.

    Their stride is that at which grids read elements and values of rows from each other, but for
    grids that are read in no order, and computed where that is.
    """
    grids = [op for op in ops if isinstance(op, GridOp)]
    reducing = [grid for grid in grids if row_reduces(grid)]
    found = set(map(rows_of_grid, reducing))
    rows = found.pop() if len(found) == 1 else None
    if rows is None:
        return None
    forms, computed = IndexForms(), set[SSAValue]()
    strided = (each for grid in reducing for each in _strided(forms, grid, rows))
    candidates = [*dict.fromkeys(chain([rows], strided))]
    for grid in grids:
        loads = [load for load in loads_of(grid) if load.source in computed]
        for load in loads:
            fitting = [each for each in candidates if _is_in_order(forms, each, grid, load)]
            candidates = fitting or candidates
        if loads or not is_view(grid):
            computed.add(grid.result)
    return candidates[0]


def _strided(forms: IndexForms, grid: GridOp, rows: Rows) -> Iterator[Rows]:
    """Yield the rows with the strides at which a grid loads all elements of tensors."""
    row = linear_index(forms, grid.indices, grid.shape, grid.body.block)
    for reduce in row_reduces(grid):
        at = linear_index(forms, reduce.indices, reduce.shape, reduce.body.block)
        extents = zip(reduce.indices, reduce.shape, strict=True)
        *_, inner = (index for index, extent in extents if extent > 1)
        for load in ops_of_class(reduce, LoadOp):
            number = linear_index_of_load(forms, load)
            stride = number.coefficient_of(inner)
            if size_of(load.source) == rows.size and stride > 1 and rows.count % stride == 0:
                found = replace(rows, stride=stride)
                if number == found.element(forms.algebra(load.parent), row, at):
                    yield found


def read_in_order(rows: Rows, grid: GridOp, loads: Iterable[LoadOp]) -> bool:
    """Return whether loads of a grid read the value of its own row, or its own element of it."""
    forms = IndexForms()
    return all(_is_in_order(forms, rows, grid, load) for load in loads)


def _is_in_order(forms: IndexForms, rows: Rows, grid: GridOp, load: LoadOp) -> bool:
    algebra, reduce = forms.algebra(load.parent), load.parent_op()
    own = linear_index(forms, grid.indices, grid.shape, grid.body.block)
    places = {rows.count: own}
    if isinstance(reduce, ReduceOp) and reduce.parent is grid.body.block:
        at = linear_index(forms, reduce.indices, reduce.shape, reduce.body.block)
        places[rows.size] = rows.element(algebra, own, at)
    elif prod(grid.shape) == rows.size:
        places = {rows.count: rows.row(algebra, own), rows.size: own}
    return linear_index_of_load(forms, load) == places.get(size_of(load.source))
