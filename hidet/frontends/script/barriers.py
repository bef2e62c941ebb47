"""Where threads meet: barriers of a block, of a cluster and in memory, fences, hand-overs."""

from math import prod

from xdsl.ir import SSAValue

from hidet.arch.hopper import REGISTER_COUNTS, SETMAXNREG
from hidet.arch.instructions import Instruction
from hidet.arch.limits import MAX_THREADS_PER_BLOCK, WARP
from hidet.dialects import cuda
from hidet.dialects.cuda.table_ops import Element
from hidet.errors import ScriptError
from hidet.frontends.script.instructions import i32_operand, instruction, known_number, operand_at
from hidet.frontends.script.messages import describe
from hidet.frontends.script.tracing import current, insert

syncthreads = instruction("syncthreads", cuda.SyncThreadsOp)
syncthreads_and, syncthreads_or, syncthreads_count = (
    instruction(
        f"syncthreads_{kind.value}",
        cuda.SyncVoteOp,
        parameter,
        summary=f"Wait for all threads of the block; return {what}.",
        kind=kind,
    )
    for kind, parameter, what in (
        (cuda.BlockVote.AND, "cond", "whether the condition holds for all of them"),
        (cuda.BlockVote.OR, "cond", "whether the condition holds for one of them"),
        (cuda.BlockVote.COUNT, "value", "for how many of them the value is not zero"),
    )
)
FENCES = {
    scope: instruction(
        "threadfence",
        cuda.EffectOp,
        summary=f"Keep the accesses before this ahead of those after it, for {threads}.",
        callee=f"fence_{scope.value}",
        numbers=(),
    )
    for scope, threads in zip(
        cuda.AccessScope, ("the block", "the GPU", "the machine"), strict=True
    )
}
"""For each scope what keeps the thread's accesses before it ahead of those after it."""

threadfence_block, threadfence, threadfence_system = FENCES.values()
cluster_arrive = instruction("cluster_arrive", cuda.ClusterArriveOp)
cluster_wait = instruction("cluster_wait", cuda.ClusterWaitOp)
griddepcontrol_wait = instruction("griddepcontrol_wait", cuda.GridDependencyWaitOp)
griddepcontrol_launch_dependents = instruction(
    "griddepcontrol_launch_dependents", cuda.LaunchDependentsOp
)
fence_mbarrier_init = instruction("fence_mbarrier_init", cuda.FenceMbarrierInitOp)
fence_proxy_async = instruction("fence_proxy_async", cuda.FenceProxyAsyncOp)
mbarrier_init = instruction("mbarrier_init", cuda.MbarrierInitOp, "mbar", "arrive_count")
mbarrier_wait = instruction("mbarrier_wait", cuda.MbarrierWaitOp, "mbar", "phase")
mbarrier_invalidate = instruction("mbarrier_invalidate", cuda.MbarrierInvalidateOp, "mbar")
cp_async_barrier_arrive = instruction(
    "cp_async_barrier_arrive", cuda.CpAsyncBarrierArriveOp, "mbar"
)
_arrive_here = instruction("mbarrier_arrive", cuda.MbarrierArriveOp, "mbar")
_arrive_there = instruction("mbarrier_arrive", cuda.MbarrierArriveClusterOp, "mbar", "cta_id")
_expect = instruction(
    "mbarrier_arrive_and_expect_tx", cuda.MbarrierExpectOp, "mbar", "transaction_bytes"
)


def nano_sleep(nano_seconds: object) -> None:
    """Wait for about so many nanoseconds, up to a million; the CPU does not wait."""
    insert(cuda.EffectOp("nanosleep", [i32_operand(nano_seconds)]))


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
    if not isinstance(action, str) or action not in SETMAXNREG:
        raise ScriptError(
            f"setmaxnreg does {describe(action)}", hint="the action is 'inc' or 'dec'"
        )
    if current().shape.min_blocks is None:
        raise ScriptError(
            "setmaxnreg without a number of blocks for a multiprocessor has no effect",
            hint="set attrs.cuda.min_blocks = 1 first",
        )
    insert(
        cuda.SetMaxNregOp(action, known_number("the number of registers", nregs, REGISTER_COUNTS))
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
    number, threads = _named(barrier, count)
    insert(cuda.BarrierSyncOp(number, threads))


def bar_sync(cooperative_threads: object) -> None:
    """Wait until so many threads have come to barrier 1 of the block."""
    barrier_sync(1, cooperative_threads)


def barrier_arrive(barrier: object, count: object, aligned: bool = False) -> None:
    """Come to a barrier of the block, and go on at once."""
    number, threads = _named(barrier, count)
    insert(cuda.BarrierArriveOp(number, threads))


def _named(barrier: object, count: object) -> tuple[SSAValue, int]:
    """Return the number of a barrier, and that of the threads that meet at it."""
    extents = current().shape.block or (0,)
    known = [extent for extent in extents if isinstance(extent, int)]
    block = prod(known) if len(known) == len(extents) else MAX_THREADS_PER_BLOCK
    if isinstance(barrier, int):
        known_number("the number of a barrier", barrier, range(NAMED_BARRIERS))
    threads = known_number(
        "the number of threads that meet",
        block if count is None else count,
        range(WARP, block + 1, WARP) or (WARP,),
    )
    return i32_operand(barrier), threads


def barrier_at(instruction: Instruction, value: object) -> Element:
    """Return the barrier that an instruction works on."""
    *_, operand = instruction.operands
    return operand_at(instruction.function, operand, value, 1)


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
    _refuse("mbarrier_arrive", pred=pred)
    if cta_id is None:
        _arrive_here(mbar)
    else:
        _arrive_there(mbar, cta_id)


def mbarrier_arrive_and_expect_tx(
    mbar: object, transaction_bytes: object, cta_id: object = None, pred: object = None
) -> None:
    """Arrive once at a barrier, whose phase waits for so many bytes of copies too.

    `cta_id` and `pred` are not supported.

    Raises:
        ScriptError: an argument is not what it should be.
    """
    _refuse("mbarrier_arrive_and_expect_tx", cta_id=cta_id, pred=pred)
    _expect(mbar, transaction_bytes)


# The names of CUDA.
__syncthreads, __syncthreads_and, __syncthreads_or = syncthreads, syncthreads_and, syncthreads_or
__syncthreads_count, __nanosleep = syncthreads_count, nano_sleep
__threadfence, __threadfence_block = threadfence, threadfence_block
__threadfence_system = threadfence_system

__all__: list[str] = ["__nanosleep", "__syncthreads", "__syncthreads_and", "__syncthreads_count"]
__all__ += ["__syncthreads_or", "__threadfence", "__threadfence_block", "__threadfence_system"]
__all__ += ["bar_sync", "barrier_arrive", "barrier_sync", "cluster_arrive", "cluster_sync"]
__all__ += ["cluster_wait", "cp_async_barrier_arrive", "fence_mbarrier_init", "fence_proxy_async"]
__all__ += ["griddepcontrol_launch_dependents", "griddepcontrol_wait", "mbarrier_arrive"]
__all__ += ["mbarrier_arrive_and_expect_tx", "mbarrier_init", "mbarrier_invalidate"]
__all__ += ["mbarrier_wait", "nano_sleep"]
__all__ += ["setmaxnreg", "syncthreads", "syncthreads_and", "syncthreads_count", "syncthreads_or"]
__all__ += ["threadfence", "threadfence_block", "threadfence_system"]
