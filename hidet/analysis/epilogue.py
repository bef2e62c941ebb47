"""Whether a grid is an epilogue of an anchor; `fuse` promises by it what `schedule` builds."""

from xdsl.ir import SSAValue

from hidet.analysis.grids import loads_of
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.inverse import Inverse, invert
from hidet.dialects.compute import GridOp
from hidet.dialects.shaped import shape_of


def inverse_of(grid: GridOp, *anchors: SSAValue) -> Inverse | None:
    """Return which element of a grid follows from an element of its anchor, or of several.

    That is known where the grid loads anchors of one shape, always at the same place and not in a
    branch or a reduction, at indices that `invert` can solve; else None is returned.
    """
    loads = [load for load in loads_of(grid) if load.source in anchors]
    shapes = {shape_of(load.source) for load in loads}
    if len(shapes) != 1:
        return None
    forms = IndexForms()
    places = {tuple(forms.form(index) for index in load.indices) for load in loads}
    if len(places) != 1 or any(load.parent is not grid.body.block for load in loads):
        return None
    return invert(places.pop(), grid.indices, grid.shape, shapes.pop())
