"""Where threads meet: barriers of a block, of a cluster and in memory, fences, hand-overs."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from hidet.arch import hopper
from hidet.arch.hopper import REGISTER_COUNTS, SETMAXNREG
from hidet.arch.instructions import Instruction
from hidet.arch.limits import WARP
from hidet.dialects.cuda import (
    BarrierArriveOp,
    BarrierSyncOp,
    ClusterArriveOp,
    ClusterWaitOp,
    FenceMbarrierInitOp,
    FenceProxyAsyncOp,
    GridDependencyWaitOp,
    LaunchDependentsOp,
    MbarrierArriveClusterOp,
    MbarrierArriveOp,
    MbarrierExpectOp,
    MbarrierInitOp,
    MbarrierWaitOp,
    SetMaxNregOp,
    SyncThreadsOp,
)
from hidet.dialects.cuda.barriers import BlockVote, EffectOp, SyncVoteOp
from hidet.dialects.cuda.memory_access import AccessScope
from hidet.dialects.cuda.table_ops import Element
from hidet.errors import ScriptError
from hidet.frontends.script.emitter import Emitter
from hidet.frontends.script.operands import i32_operand, known_number, operand_at
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import BOOL, I32, ScalarType
from hidet.frontends.script.values import Scalar, describe


def syncthreads() -> None:
    """Wait for all threads of the block."""
    current("syncthreads").insert(SyncThreadsOp())


def syncthreads_and(cond: object) -> Scalar:
    """Wait for all threads of the block; return whether the condition holds for all of them."""
    return _vote(BlockVote.AND, cond, BOOL)


def syncthreads_or(cond: object) -> Scalar:
    """Wait for all threads of the block; return whether the condition holds for one of them."""
    return _vote(BlockVote.OR, cond, BOOL)


def syncthreads_count(value: object) -> Scalar:
    """Wait for all threads of the block; return for how many of them the value is not zero."""
    return _vote(BlockVote.COUNT, value, I32)


def _vote(kind: BlockVote, value: object, result: ScalarType) -> Scalar:
    emitter = current(f"syncthreads_{kind.value}")
    predicate = emitter.cast(emitter.scalar_of(value), BOOL)
    return Scalar(emitter, emitter.insert(SyncVoteOp(kind, predicate.ssa)).result, result)


def threadfence() -> None:
    """Keep the thread's accesses before this ahead of those after it, for all of the GPU."""
    fence(AccessScope.GPU)


def threadfence_block() -> None:
    """Keep the thread's accesses before this ahead of those after it, for its block."""
    fence(AccessScope.CTA)


def threadfence_system() -> None:
    """Keep the thread's accesses before this ahead of those after it, for all of the machine."""
    fence(AccessScope.SYS)


def fence(scope: AccessScope) -> None:
    """Keep the thread's accesses before this ahead of those after it, for some threads."""
    current("threadfence").insert(EffectOp(f"fence_{scope.value}"))


def nano_sleep(nano_seconds: object) -> None:
    """Wait for about so many nanoseconds, up to a million; the CPU does not wait."""
    emitter = current("nano_sleep")
    emitter.insert(EffectOp("nanosleep", [i32_operand(emitter, nano_seconds)]))


def cluster_arrive() -> None:
    """Come to the barrier of all threads of the cluster, and go on at once."""
    current("cluster_arrive").insert(ClusterArriveOp())


def cluster_wait() -> None:
    """Wait until all threads of the cluster have come to its barrier."""
    current("cluster_wait").insert(ClusterWaitOp())


def cluster_sync() -> None:
    """Wait for all threads of the cluster."""
    cluster_arrive()
    cluster_wait()


NAMED_BARRIERS = 16
"""The barriers of a block (PTX ISA, barrier)."""


def setmaxnreg(nregs: object, action: object) -> None:
    """Give registers back, `setmaxnreg(40, "dec")`, or take more, `setmaxnreg(232, "inc")`.

    All warps of a warp group come by. What all groups have together stays within the 65536
    registers of a multiprocessor; `attrs.cuda.min_blocks` says how many blocks share them.

    Raises:
        ScriptError: there is no such action or number.
    """
    emitter = current("setmaxnreg")
    if not isinstance(action, str) or action not in SETMAXNREG:
        raise ScriptError(
            f"setmaxnreg does {describe(action)}", hint="the action is 'inc' or 'dec'"
        )
    if emitter.shape.min_blocks is None:
        raise ScriptError(
            "setmaxnreg without a number of blocks for a multiprocessor has no effect",
            hint="set attrs.cuda.min_blocks = 1 first",
        )
    emitter.insert(
        SetMaxNregOp(action, known_number("the number of registers", nregs, REGISTER_COUNTS))
    )


def barrier_sync(barrier: object, count: object = None, aligned: bool = False) -> None:
    """Wait until so many threads, whole warps, have come to one of the block's barriers.

    Args:
        barrier: 0 to 15; number 0 is that of `syncthreads()`.
        count: the number of threads, a multiple of 32; all of the block if left out.
        aligned: whether all threads of a warp come together, as they have to in any case.

    Raises:
        ScriptError: there is no such barrier.
    """
    emitter = current("barrier_sync")
    number, threads = _named(emitter, barrier, count)
    emitter.insert(BarrierSyncOp(number, threads))


def bar_sync(cooperative_threads: object) -> None:
    """Wait until so many threads have come to barrier 1 of the block."""
    barrier_sync(1, cooperative_threads)


def barrier_arrive(barrier: object, count: object, aligned: bool = False) -> None:
    """Come to a barrier of the block, and go on at once."""
    emitter = current("barrier_arrive")
    number, threads = _named(emitter, barrier, count)
    emitter.insert(BarrierArriveOp(number, threads))


def _named(emitter: Emitter, barrier: object, count: object) -> tuple[SSAValue, int]:
    """Return the number of a barrier, and that of the threads that meet at it."""
    block = prod(emitter.shape.block or (0,))
    if isinstance(barrier, int):
        known_number("the number of a barrier", barrier, range(NAMED_BARRIERS))
    threads = known_number(
        "the number of threads that meet",
        block if count is None else count,
        range(WARP, block + 1, WARP) or (WARP,),
    )
    return i32_operand(emitter, barrier), threads


def griddepcontrol_wait() -> None:
    """Wait for the kernel before, whose writes can then be seen."""
    current("griddepcontrol_wait").insert(GridDependencyWaitOp())


def griddepcontrol_launch_dependents() -> None:
    """Let the kernel after this one start, once all blocks have come here."""
    current("griddepcontrol_launch_dependents").insert(LaunchDependentsOp())


def barrier_at(emitter: Emitter, instruction: Instruction, value: object) -> Element:
    """Return the barrier that an instruction works on."""
    *_, operand = instruction.operands
    return operand_at(emitter, instruction.function, operand, value, 1)


# Barriers in memory.
def _refuse(function: str, **arguments: object) -> None:
    """Check that arguments of the original Hidet which are not supported are left out.

    Raises:
        ScriptError: one is given.
    """
    for name, value in arguments.items():
        if value is not None:
            raise ScriptError(
                f"{function} with {name}={describe(value)} is not supported",
                hint="a branch, `if pred:`, says which threads come"
                if name == "pred"
                else "a block expects bytes at a barrier of its own",
            )


def mbarrier_init(mbar: object, arrive_count: object) -> None:
    """Make a barrier in shared memory, `~full[i]`, whose phases end after so many arrivals.

    One thread makes it. Before others use it come `fence_mbarrier_init()` and `syncthreads()`.
    """
    emitter = current("mbarrier_init")
    emitter.insert(
        MbarrierInitOp(
            barrier_at(emitter, hopper.MBARRIER_INIT, mbar), i32_operand(emitter, arrive_count)
        )
    )


def mbarrier_arrive(mbar: object, cta_id: object = None, pred: object = None) -> None:
    """Arrive once at a barrier.

    Args:
        mbar: the address of the barrier.
        cta_id: the block of the cluster in which it lies, in the same place; the own one if left
            out.
        pred: not supported.

    Raises:
        ScriptError: an argument is not what it should be.
    """
    emitter = current("mbarrier_arrive")
    _refuse("mbarrier_arrive", pred=pred)
    if cta_id is None:
        emitter.insert(MbarrierArriveOp(barrier_at(emitter, hopper.MBARRIER_ARRIVE, mbar)))
        return
    barrier = barrier_at(emitter, hopper.MBARRIER_ARRIVE_CLUSTER, mbar)
    emitter.insert(MbarrierArriveClusterOp(barrier, i32_operand(emitter, cta_id)))


def mbarrier_arrive_and_expect_tx(
    mbar: object, transaction_bytes: object, cta_id: object = None, pred: object = None
) -> None:
    """Arrive once at a barrier, whose phase waits for so many bytes of copies too.

    `cta_id` and `pred` are not supported.

    Raises:
        ScriptError: an argument is not what it should be.
    """
    emitter = current("mbarrier_arrive_and_expect_tx")
    _refuse("mbarrier_arrive_and_expect_tx", cta_id=cta_id, pred=pred)
    barrier = barrier_at(emitter, hopper.MBARRIER_EXPECT, mbar)
    emitter.insert(MbarrierExpectOp(barrier, i32_operand(emitter, transaction_bytes)))


def mbarrier_wait(mbar: object, phase: object) -> None:
    """Wait for the end of the phase of this parity: 0 for the first phase, 1 for the second, ...

    Of a new barrier the phase before the first, of parity 1, has ended.
    """
    emitter = current("mbarrier_wait")
    emitter.insert(
        MbarrierWaitOp(barrier_at(emitter, hopper.MBARRIER_WAIT, mbar), i32_operand(emitter, phase))
    )


def fence_mbarrier_init() -> None:
    """Let barriers that the thread has made be seen by copies and other blocks."""
    current("fence_mbarrier_init").insert(FenceMbarrierInitOp())


def fence_proxy_async() -> None:
    """Let stores of the thread to shared memory be seen by `tma_store` and `wgmma_async`.

    Each thread that has stored comes here, then all of them to a barrier.
    """
    current("fence_proxy_async").insert(FenceProxyAsyncOp())


# The names of CUDA.
__syncthreads, __syncthreads_and, __syncthreads_or = syncthreads, syncthreads_and, syncthreads_or
__syncthreads_count, __nanosleep = syncthreads_count, nano_sleep
__threadfence, __threadfence_block = threadfence, threadfence_block
__threadfence_system = threadfence_system

__all__: list[str] = ["__nanosleep", "__syncthreads", "__syncthreads_and", "__syncthreads_count"]
__all__ += ["__syncthreads_or", "__threadfence", "__threadfence_block", "__threadfence_system"]
__all__ += ["bar_sync", "barrier_arrive", "barrier_sync", "cluster_arrive", "cluster_sync"]
__all__ += ["cluster_wait", "fence_mbarrier_init", "fence_proxy_async"]
__all__ += ["griddepcontrol_launch_dependents", "griddepcontrol_wait", "mbarrier_arrive"]
__all__ += ["mbarrier_arrive_and_expect_tx", "mbarrier_init", "mbarrier_wait", "nano_sleep"]
__all__ += ["setmaxnreg", "syncthreads", "syncthreads_and", "syncthreads_count", "syncthreads_or"]
__all__ += ["threadfence", "threadfence_block", "threadfence_system"]
