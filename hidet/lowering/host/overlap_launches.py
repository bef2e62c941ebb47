"""The pass `overlap-launches`: which kernels begin before those ahead of them are over."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.passes import ModulePass

from hidet.analysis.kernels import kernels_of
from hidet.dialects.cuda.host import LaunchOp
from hidet.dialects.cuda.warp_roles import GridDependencyWaitOp


@dataclass(frozen=True)
class OverlapLaunchesPass(ModulePass):
    """Make launches programmatic whose kernels wait for the launches ahead of them themselves.

    Expects what `plan-memory` leaves. Leaves `programmatic` on the launches of kernels with a
    `cuda.grid_dependency_wait`, on no other: a kernel that does not wait would read what is not
    written yet. Whoever wrote the wait has put it ahead of all accesses to what other kernels
    write or read (CUDA C++ Programming Guide, Programmatic Dependent Launch).
    """

    name = "overlap-launches"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run on all launches of a module."""
        waiting = {
            kernel.sym_name.data
            for kernel in kernels_of(op)
            if any(isinstance(each, GridDependencyWaitOp) for each in kernel.body.walk())
        }
        for launch in op.walk():
            if isinstance(launch, LaunchOp):
                waits = launch.kernel.string_value() in waiting
                launch.programmatic = UnitAttr() if waits else None
