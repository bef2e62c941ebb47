"""Barriers of a block with a vote, fences, and waiting by time, in scripts."""

from __future__ import annotations

from hidet.dialects.cuda.barriers import BlockVote, EffectOp, SyncVoteOp
from hidet.dialects.cuda.memory_access import AccessScope
from hidet.frontends.script.operands import i32_operand
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import BOOL, I32, ScalarType
from hidet.frontends.script.values import Scalar


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
