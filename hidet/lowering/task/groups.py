"""Barriers of the block and of warp groups."""

from xdsl.dialects.arith import IndexCastOp
from xdsl.dialects.builtin import IntegerAttr, i32, i64
from xdsl.ir import Operation

from hidet.analysis.kernels import kernel_of
from hidet.dialects import cuda
from hidet.dialects.constants import known_index
from hidet.dialects.task.group import BARRIERS, GroupOp, group_around
from hidet.dialects.walking import ops_in
from hidet.errors import ScheduleError
from hidet.rewriting.builder import Index, KernelBuilder


def workers_of(op: Operation) -> int:
    """Return the threads of the group that an op belongs to, or of the block."""
    group = group_around(op)
    return kernel_of(op).threads if group is None else group.workers


def insert_barrier(builder: KernelBuilder, at: Operation) -> None:
    """Insert a barrier of all threads that execute an op: those of the block or of its group."""
    group = group_around(at)
    if group is None or workers_of(at) == kernel_of(at).threads:
        builder.insert(cuda.SyncThreadsOp())
        return
    first = _barrier_of(group)
    number = builder.scalar(first, i32)
    if group.multiplicity > 1:
        index = builder.index(builder.add(group.body.block.args[1], first))
        number = builder.insert(IndexCastOp(index, i32)).result
    builder.insert(cuda.BarrierSyncOp(number, group.workers))


def thread_index(builder: KernelBuilder, kernel: cuda.KernelOp) -> Index:
    """Return the linear index of the thread in its block, x fastest."""
    ids = [
        builder.insert(cuda.ThreadIdOp(dimension)).result if extent != 1 else 0
        for dimension, extent in zip(cuda.Dimension, kernel.block_dims, strict=True)
    ]
    return builder.linearize(ids[::-1], kernel.block_dims[::-1])


def _barrier_of(group: GroupOp) -> int:
    """Return the barrier number of a group: its own, that of an equal group, or a free one.

    Numbers are assigned from the highest one down; kernels number explicit barriers from 1 up.
    """
    if group.barrier is None:
        taken: set[int | None] = set()
        for op in ops_in(kernel_of(group)):
            if isinstance(op, GroupOp) and op.barrier is not None:
                if op.threads == group.threads and op.workers == group.workers:
                    group.barrier = op.barrier
                taken.update(op.barriers)
            elif isinstance(op, cuda.BarrierSyncOp | cuda.BarrierArriveOp):
                taken.add(known_index(op.barrier))
        if group.barrier is None:
            last = BARRIERS - group.multiplicity
            free = [
                n for n in range(1, last + 1) if taken.isdisjoint(range(n, n + group.multiplicity))
            ]
            if not free:
                raise ScheduleError(
                    "no named barrier is left for a task.group",
                    hint=f"a block has {BARRIERS}, the first of which is cuda.sync_threads",
                )
            group.barrier = IntegerAttr(max(free), i64)
    return group.barrier.value.data
