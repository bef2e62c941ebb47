"""Synchronization in scripts: barriers of blocks and clusters, mbarriers, fences."""

from math import prod

from xdsl.ir import SSAValue

from hidet.arch.hopper import REGISTER_COUNTS, SETMAXNREG
from hidet.arch.limits import MAX_THREADS_PER_BLOCK, WARP
from hidet.dialects import cuda
from hidet.dialects.task.group import BARRIERS
from hidet.errors import ScriptError
from hidet.frontends.script.instructions import instruction, known_number
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import convert
from hidet.frontends.script.tracing import current, insert
from hidet.frontends.script.types import I32

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
_SCOPES = zip(cuda.AccessScope, (cuda.FenceCtaOp, cuda.FenceGpuOp, cuda.FenceSysOp), strict=True)
FENCES = {scope: instruction("threadfence", fence) for scope, fence in _SCOPES}
"""The memory fence of each scope."""

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


nano_sleep = instruction(
    "nano_sleep",
    cuda.NanosleepOp,
    "nano_seconds",
    summary="Sleep for about this many nanoseconds, up to a million; the CPU does not sleep.",
)


def cluster_sync() -> None:
    """Wait for all threads of the cluster."""
    cluster_arrive()
    cluster_wait()


def setmaxnreg(nregs: object, action: object) -> None:
    """Release registers, `setmaxnreg(40, "dec")`, or request more, `setmaxnreg(232, "inc")`.

    All warps of a warp group execute it. All groups together keep within the 65536 registers of an
    SM; `attrs.cuda.min_blocks` is the number of blocks per SM.
    """
    if not isinstance(action, str) or action not in SETMAXNREG:
        raise ScriptError(
            f"unknown action of setmaxnreg: {describe(action)}", hint="the action is 'inc' or 'dec'"
        )
    if current().shape.min_blocks is None:
        raise ScriptError(
            "setmaxnreg has no effect without a number of blocks per multiprocessor",
            hint="set attrs.cuda.min_blocks = 1 first",
        )
    count = known_number("the number of registers", nregs, REGISTER_COUNTS)
    insert(cuda.SetMaxNregOp(action, count))


def barrier_sync(barrier: object, count: object = None, aligned: bool = False) -> None:
    """Wait at a named barrier of the block until enough threads, in whole warps, have arrived.

    There are 0 to 15; 0 is that of `syncthreads()`. The number of threads is a multiple of 32, by
    default the whole block. All threads of a warp must arrive together, regardless of `aligned`.
    """
    insert(cuda.BarrierSyncOp(*_named(barrier, count)))


def bar_sync(cooperative_threads: object) -> None:
    """Wait at barrier 1 of the block for a number of threads."""
    barrier_sync(1, cooperative_threads)


def barrier_arrive(barrier: object, count: object, aligned: bool = False) -> None:
    """Arrive at a barrier of the block without waiting."""
    insert(cuda.BarrierArriveOp(*_named(barrier, count)))


def _named(barrier: object, count: object) -> tuple[SSAValue, int]:
    """Return the number of a barrier and its number of threads."""
    extents = current().shape.block_dim or (0,)
    known = [extent for extent in extents if isinstance(extent, int)]
    block = prod(known) if len(known) == len(extents) else MAX_THREADS_PER_BLOCK
    if isinstance(barrier, int):
        known_number("the number of a barrier", barrier, range(BARRIERS))
    threads = known_number(
        "the number of threads",
        block if count is None else count,
        range(WARP, block + 1, WARP) or (WARP,),
    )
    return convert(barrier, I32).ssa, threads


def _refuse(function: str, **arguments: object) -> None:
    """Reject arguments of the original Hidet that are not supported."""
    for name, value in arguments.items():
        if value is not None:
            raise ScriptError(
                f"{function} with {name}={describe(value)} is not supported",
                hint="use a branch, `if pred:`"
                if name == "pred"
                else "a block expects bytes at its own barrier",
            )


def mbarrier_arrive(mbar: object, cta_id: object = None, pred: object = None) -> None:
    """Arrive at an mbarrier.

    With `cta_id`, it is the one at the same offset in that block of the cluster. `pred` is not
    supported.
    """
    _refuse("mbarrier_arrive", pred=pred)
    if cta_id is None:
        _arrive_here(mbar)
    else:
        _arrive_there(mbar, cta_id)


def mbarrier_arrive_and_expect_tx(
    mbar: object, transaction_bytes: object, cta_id: object = None, pred: object = None
) -> None:
    """Arrive at an mbarrier, whose phase also waits for a number of bytes.

    `cta_id` and `pred` are not supported.
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
