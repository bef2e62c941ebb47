"""Row-major linear indices as forms."""

from collections.abc import Sequence

from xdsl.ir import Block, SSAValue

from hidet.analysis.forms import ZERO, LinearForm
from hidet.analysis.index_forms import IndexForms
from hidet.dialects.compute import LoadOp
from hidet.dialects.shaped import shape_of


def linear_index(
    forms: IndexForms, indices: Sequence[SSAValue], shape: Sequence[int], at: Block | None
) -> LinearForm:
    """Return the form of the linear index of an element of a tensor."""
    algebra = forms.algebra(at)
    found = ZERO
    for index, extent in zip(indices, shape, strict=True):
        found = algebra.add(forms.form(index), found, extent)
    return found


def linear_index_of_load(forms: IndexForms, load: LoadOp) -> LinearForm:
    """Return the form of the linear index of the element that a load reads."""
    return linear_index(forms, load.indices, shape_of(load.source), load.parent)
