"""The pass `overlap-launches`: which kernels begin before those ahead of them are over."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.passes import ModulePass

from hidet.analysis.kernels import kernels_of, waits_for_launches
from hidet.dialects.cuda.host import LaunchOp


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
        kernels = kernels_of(op)
        waiting = {kernel.sym_name.data for kernel in kernels if waits_for_launches(kernel)}
        for launch in op.walk():
            if isinstance(launch, LaunchOp):
                waits = launch.kernel.string_value() in waiting
                launch.programmatic = UnitAttr() if waits else None
