"""Barriers of warp groups: which threads wait for each other, and at which barrier."""

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerAttr, i32, i64
from xdsl.ir import Operation

from hidet.analysis.kernels import kernel_of
from hidet.dialects.constants import known_index
from hidet.dialects.cuda import BarrierArriveOp, BarrierSyncOp, SyncThreadsOp
from hidet.dialects.task.group import BARRIERS, GroupOp, group_around
from hidet.errors import ScheduleError
from hidet.rewriting.builder import KernelBuilder


def insert_barrier(builder: KernelBuilder, at: Operation) -> None:
    """Insert where a builder stands a barrier of all threads that come by an op.

    They are those of the block, or of the group around the op.

    Raises:
        ScheduleError: the block has no barrier left for the group.
    """
    group = group_around(at)
    if group is None or len(group.threads) == kernel_of(at).threads:
        builder.insert(SyncThreadsOp())
        return
    number = builder.insert(ConstantOp(IntegerAttr(_barrier_of(group), i32))).result
    builder.insert(BarrierSyncOp(number, len(group.threads)))


def _barrier_of(group: GroupOp) -> int:
    """Return the barrier of a group: its own, that of its threads elsewhere, or the last free one.

    Kernels count their own barriers from the first one on.
    """
    if group.barrier is None:
        taken: set[int] = set()
        for op in kernel_of(group).walk():
            if isinstance(op, GroupOp) and op.barrier is not None:
                if op.threads == group.threads:
                    group.barrier = op.barrier
                taken.add(op.barrier.value.data)
            elif isinstance(op, BarrierSyncOp | BarrierArriveOp):
                number = known_index(op.barrier)
                taken.update(() if number is None else (number,))
        if group.barrier is None:
            free = set(range(1, BARRIERS)) - taken
            if not free:
                raise ScheduleError(
                    "no barrier is left for a task.group",
                    hint=f"a block has {BARRIERS}, the first of which is that of all its threads",
                )
            group.barrier = IntegerAttr(max(free), i64)
    return group.barrier.value.data
