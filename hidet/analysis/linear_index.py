"""Linear indices: which element of another tensor a grid reads, counted row-major."""

from collections.abc import Sequence

from xdsl.ir import Block, SSAValue

from hidet.analysis.forms import ZERO, LinearForm
from hidet.analysis.index_forms import IndexForms
from hidet.dialects.compute import LoadOp
from hidet.dialects.shaped import shape_of


def linear_index(
    forms: IndexForms, indices: Sequence[SSAValue], shape: Sequence[int], at: Block | None
) -> LinearForm:
    """Return the linear, row-major index of element `indices` of a tensor of a shape, as a form."""
    algebra = forms.algebra(at)
    found = ZERO
    for index, extent in zip(indices, shape, strict=True):
        found = algebra.add(forms.form(index), found, extent)
    return found


def linear_index_of_load(forms: IndexForms, load: LoadOp) -> LinearForm:
    """Return the linear, row-major index of the element that a load reads, as a form."""
    return linear_index(forms, load.indices, shape_of(load.source), load.parent)
