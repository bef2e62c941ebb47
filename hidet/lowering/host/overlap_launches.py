"""The pass `overlap-launches`: overlaps kernels by programmatic dependent launch."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.passes import ModulePass

from hidet.analysis.kernels import kernels_of
from hidet.dialects.cuda.host import LaunchOp
from hidet.dialects.cuda.marks import OVERLAPS
from hidet.dialects.walking import ops_of_class


class OverlapLaunchesPass(ModulePass):
    """Start kernels that wait for their predecessors themselves before these have finished.

    Expects the output of `insert-waits`. Leaves `programmatic` on exactly the launches of kernels
    that `cuda.overlaps`.
    """

    name = "overlap-launches"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run on all launches of a module."""
        overlap = {each.sym_name.data for each in kernels_of(op) if OVERLAPS in each.attributes}
        for launch in ops_of_class(op, LaunchOp):
            overlaps = launch.kernel.string_value() in overlap
            launch.programmatic = UnitAttr() if overlaps else None
