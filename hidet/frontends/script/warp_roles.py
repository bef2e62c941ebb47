"""What warps and blocks of a script do that work on different things: meet, share out registers."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from hidet.arch.hopper import REGISTER_COUNTS, SETMAXNREG
from hidet.arch.limits import WARP
from hidet.dialects.cuda import (
    BarrierArriveOp,
    BarrierSyncOp,
    GridDependencyWaitOp,
    LaunchDependentsOp,
    SetMaxNregOp,
)
from hidet.errors import ScriptError
from hidet.frontends.script.emitter import Emitter
from hidet.frontends.script.operands import i32_operand, known_number
from hidet.frontends.script.tracing import current
from hidet.frontends.script.values import describe

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
