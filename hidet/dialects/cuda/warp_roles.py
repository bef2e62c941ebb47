"""What warps and blocks do that work on different things: meet, share out registers, hand over."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import I64, IntegerAttr, StringAttr, i32
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, traits_def
from xdsl.utils.exceptions import VerifyException

from hidet.arch import hopper
from hidet.arch.limits import MAX_THREADS_PER_BLOCK, WARP
from hidet.dialects.cuda.instructions import Collective, WarpCollective
from hidet.dialects.cuda.table_ops import InstructionOp, PlainOp


class _NamedBarrierOp(InstructionOp):
    """A barrier of some warps of the block, known by its number."""

    TEMPLATE: ClassVar = ("count",)

    barrier = operand_def(i32)
    count = prop_def(IntegerAttr[I64])

    assembly_format = "$barrier `count` $count attr-dict"
    traits = traits_def(WarpCollective())

    def verify_(self) -> None:
        """Check the number of threads (PTX ISA, barrier: a multiple of the warp's size)."""
        super().verify_()
        count = self.count.value.data
        if count % WARP or not 0 < count <= MAX_THREADS_PER_BLOCK:
            raise VerifyException(f"a barrier is for whole warps of a block, not {count} threads")


@irdl_op_definition
class BarrierSyncOp(_NamedBarrierOp):
    """`cuda.barrier_sync %id count 128`: waits until so many threads have come to a barrier.

    A block has 16 of them, 0 to 15; number 0 is that of `cuda.sync_threads`.
    """

    name = "cuda.barrier_sync"
    ENTRY: ClassVar = hopper.BARRIER_SYNC


@irdl_op_definition
class BarrierArriveOp(_NamedBarrierOp):
    """`cuda.barrier_arrive %id count 128`: comes to a barrier, and goes on at once."""

    name = "cuda.barrier_arrive"
    ENTRY: ClassVar = hopper.BARRIER_ARRIVE


@irdl_op_definition
class SetMaxNregOp(InstructionOp):
    """`cuda.setmaxnreg "inc" 232`: each thread takes registers; `"dec"` gives them back.

    All warps of a warp group come by. Those that give come first or at the same time. The kernel
    says how many blocks fit on a multiprocessor, so that the compiler knows what there is.
    """

    name = "cuda.setmaxnreg"
    ENTRY: ClassVar = hopper.SETMAXNREG
    KEY: ClassVar = "action"
    TEMPLATE: ClassVar = ("count",)

    action = prop_def(StringAttr)
    count = prop_def(IntegerAttr[I64])

    assembly_format = "$action $count attr-dict"
    traits = traits_def(WarpCollective())

    def verify_(self) -> None:
        """Check the number of registers (PTX ISA, setmaxnreg)."""
        super().verify_()
        if self.count.value.data not in hopper.REGISTER_COUNTS:
            raise VerifyException(
                f"a thread has 24, 32, ... 256 registers, not {self.count.value.data}"
            )


@irdl_op_definition
class GridDependencyWaitOp(PlainOp):
    """`cuda.grid_dependency_wait`: waits for the kernel before, whose writes can then be seen."""

    name = "cuda.grid_dependency_wait"
    ENTRY: ClassVar = hopper.GRID_DEPENDENCY_WAIT


@irdl_op_definition
class LaunchDependentsOp(PlainOp):
    """`cuda.launch_dependents`: lets the next kernel start, once all blocks have come here."""

    name = "cuda.launch_dependents"
    ENTRY: ClassVar = hopper.LAUNCH_DEPENDENTS


@irdl_op_definition
class ClusterArriveOp(PlainOp):
    """`cuda.cluster_arrive`: comes to the barrier of the cluster, and goes on at once."""

    name = "cuda.cluster_arrive"
    ENTRY: ClassVar = hopper.CLUSTER_ARRIVE

    traits = traits_def(Collective())


@irdl_op_definition
class ClusterWaitOp(PlainOp):
    """`cuda.cluster_wait`: waits until all threads of the cluster have come to its barrier."""

    name = "cuda.cluster_wait"
    ENTRY: ClassVar = hopper.CLUSTER_WAIT

    traits = traits_def(Collective())
