"""Which elements that row reductions load are adjacent in memory."""

from collections.abc import Iterator
from math import gcd, prod

from xdsl.ir import SSAValue

from hidet.analysis.forms import LinearForm, Remainder
from hidet.analysis.grids import linear_index_of_load
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.rows import row_reduces
from hidet.dialects.compute import FusionOp, GridOp, LoadOp, ReduceOp
from hidet.dialects.walking import ops_of_class


def run_across(fusion: FusionOp) -> int:
    """Return how many adjacent rows have adjacent elements in all reductions.

    0 if there are none, or elements of a row are adjacent.
    """
    forms, runs = IndexForms(), list[int]()
    for grid in ops_of_class(fusion.body, GridOp):
        for reduce in row_reduces(grid):
            inner, outer = map(_innermost, (reduce, grid))
            loads = [linear_index_of_load(forms, op) for op in ops_of_class(reduce, LoadOp)]
            if inner is None or outer is None or any(at.coefficient_of(inner) == 1 for at in loads):
                return 0
            runs.append(gcd(*(_run_of_index(at, outer, prod(grid.shape)) for at in loads)))
    return gcd(*runs) if all(runs) else 0


def _innermost(op: GridOp | ReduceOp) -> SSAValue | None:
    """Return the last index of a domain that is not always 0."""
    indices = zip(op.indices[::-1], op.shape[::-1], strict=True)
    return next((index for index, extent in indices if extent > 1), None)


def _run_of_index(form: LinearForm, index: SSAValue, extent: int) -> int:
    """Return for how many adjacent values of an index a form is adjacent: all, a digit's, or 0."""
    if form.coefficient_of(index) == 1:
        return extent
    return next(
        (
            atom.divisor
            for atom, factor in form.terms.items()
            if factor == 1 and isinstance(atom, Remainder) and atom.form == LinearForm.of(index)
        ),
        0,
    )


def runs_along(fusion: FusionOp) -> Iterator[int]:
    """Yield how many elements of a row are adjacent in memory, for each load where any are."""
    forms = IndexForms()
    for grid in ops_of_class(fusion.body, GridOp):
        for reduce in row_reduces(grid):
            for op in ops_of_class(reduce, LoadOp):
                form, run = linear_index_of_load(forms, op), 1
                for index, extent in zip(reduce.indices[::-1], reduce.shape[::-1], strict=True):
                    if extent > 1 and form.coefficient_of(index) != run:
                        break
                    run *= extent
                if run > 1:
                    yield run
