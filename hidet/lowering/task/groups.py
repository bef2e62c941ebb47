"""Warp groups: their barriers, and what they have in common."""

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation, SSAValue

from hidet.analysis.kernels import kernel_of
from hidet.analysis.memory import is_arithmetic
from hidet.dialects import cuda
from hidet.dialects.compute import GridOp, LoadOp, SinkOp
from hidet.dialects.constants import known_index
from hidet.dialects.task.group import BARRIERS, GroupOp, group_around
from hidet.dialects.walking import ops_in, values_in
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
    number: Index = _barrier_of(group)
    if group.multiplicity > 1:
        number = builder.add(group.body.block.args[1], number)
    builder.insert(cuda.BarrierSyncOp(builder.word(number), group.workers))


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


def is_common(op: Operation) -> bool:
    """Return whether an op can stay outside of groups, which all use its result.

    That is a value, a view, a shared tile, or an element of what the kernel only reads.
    """
    match op:
        case memref.AllocaOp():
            return cuda.space_of(op.memref.type) is cuda.Space.SHARED
        case LoadOp() | memref.LoadOp():
            array = op.operands[0]
            loads = (isinstance(use.operation, LoadOp | memref.LoadOp) for use in array.uses)
            return isinstance(array.owner, GridOp) or all(loads)
        case scf.IfOp():
            branches = scf.IfOp | scf.YieldOp
            return all(isinstance(each, branches) or is_common(each) for each in ops_in(op))
        case _:
            return is_arithmetic(op) or isinstance(op, cuda.IdOp | GridOp | SinkOp)


def captured_by(op: Operation) -> set[SSAValue]:
    """Return the values defined outside of an op that the op and its regions use."""
    used = {value for each in ops_in(op) for value in each.operands}
    return used.difference(values_in(op))
