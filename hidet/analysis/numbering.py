"""Numbers of elements: which element of another tensor a grid reads, counted row-major."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, SSAValue

from hidet.analysis.forms import ZERO, LinearForm
from hidet.analysis.index_forms import IndexForms
from hidet.dialects.compute import LoadOp
from hidet.dialects.shaped import shape_of


def number_of(
    forms: IndexForms, indices: Sequence[SSAValue], shape: Sequence[int], at: Block | None
) -> LinearForm:
    """Return the row-major number of element `indices` of a tensor of a shape, as a form."""
    algebra = forms.algebra(at)
    number = ZERO
    for index, extent in zip(indices, shape, strict=True):
        number = algebra.add(forms.form(index), number, extent)
    return number


def number_of_load(forms: IndexForms, load: LoadOp) -> LinearForm:
    """Return the row-major number of the element that a load reads, as a form."""
    return number_of(forms, load.indices, shape_of(load.source), load.parent)
