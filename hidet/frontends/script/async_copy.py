"""Asynchronous copies in scripts: from global to shared memory, while the thread goes on."""

from __future__ import annotations

from hidet.arch.instructions import CP_ASYNC
from hidet.dialects.cuda import CpAsyncCommitOp, CpAsyncOp, CpAsyncWaitOp
from hidet.dialects.cuda.async_copy import CopyCache
from hidet.errors import ScriptError
from hidet.frontends.script.operands import operand_at
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import INDEX
from hidet.frontends.script.values import Pointer, Scalar, Tensor, describe

CACHES = {"always": CopyCache.CA, "global": CopyCache.CG}
"""Where a copy caches what it reads, by the name of Hidet: at all levels, or in L2 only."""


def cp_async(
    dst: object,
    src: object,
    cp_size: int,
    src_size: object = None,
    cache_level: str = "always",
    prefetch_bytes: int = 0,
    evict_policy: str = "evict_normal",
) -> None:
    """Begin to copy neighbouring elements from global to shared memory.

    The thread sees them after `cp_async_wait_all()` or `cp_async_wait_group(n)`, the others after a
    barrier as well. Both addresses are multiples of the size.

    Args:
        dst: the address in shared memory, `~smem[i, j]`.
        src: the address in global memory, `~x[i, j]`.
        cp_size: how many bytes are copied: 4, 8 or 16.
        src_size: how many of them are read; the rest is filled with zeros. All by default.
        cache_level: `always`, or `global` for L2 only, which takes copies of 16 bytes.
        prefetch_bytes: not supported, 0.
        evict_policy: not supported, `evict_normal`.

    Raises:
        ScriptError: an address or the size is not what the instruction takes.
    """
    emitter = current("cp_async")
    cache = CACHES.get(cache_level)
    if cache is None or prefetch_bytes != 0 or evict_policy != "evict_normal":
        raise ScriptError(
            f"cp_async with cache_level={cache_level!r}, prefetch_bytes={prefetch_bytes!r} and "
            f"evict_policy={evict_policy!r} is not supported",
            hint="cache_level is 'always' or 'global'; leave the others out",
        )
    instruction = CP_ASYNC[str(cache.value)]
    if cp_size not in instruction.sizes:
        sizes = " or ".join(map(str, instruction.sizes))
        raise ScriptError(
            f"cp_async copies {sizes} bytes with cache_level={cache_level!r}, not {cp_size!r}"
        )
    if not isinstance(src, Pointer | Tensor):
        raise ScriptError(f"cp_async copies from an address, not {describe(src)}", hint="~x[i, j]")
    size = src.element.bits // 8
    to, start = instruction.operands
    target = operand_at(emitter, "cp_async", to, dst, cp_size // size)
    source = operand_at(emitter, "cp_async", start, src, 1)
    assert isinstance(dst, Pointer | Tensor)
    if dst.element != src.element:
        raise ScriptError(
            f"cp_async copies {describe(src)} to {describe(dst)}",
            hint="both have elements of the same type",
        )
    valid = None
    if src_size is not None:
        count = src_size if isinstance(src_size, int) else emitter.scalar_of(src_size)
        if isinstance(count, Scalar):
            count = emitter.cast(count, INDEX)
        valid = emitter.index_of(count // size)
    emitter.insert(CpAsyncOp(cp_size // size, source, target, cache, valid))


def cp_async_commit_group() -> None:
    """Make a group of the thread's copies since its last group."""
    current("cp_async_commit_group").insert(CpAsyncCommitOp())


def cp_async_wait_group(allow_on_fly_groups: object) -> None:
    """Wait for the thread's groups of copies, but for so many of the latest ones.

    Raises:
        ScriptError: the number is not known when the script is defined, or is negative.
    """
    emitter = current("cp_async_wait_group")
    if not isinstance(allow_on_fly_groups, int) or allow_on_fly_groups < 0:
        raise ScriptError(
            f"the number of groups that may be under way is {describe(allow_on_fly_groups)}",
            hint="it is an integer from 0 on, known when the script is defined",
        )
    emitter.insert(CpAsyncWaitOp(allow_on_fly_groups))


def cp_async_wait_all() -> None:
    """Wait for all copies of the thread, in groups or not."""
    emitter = current("cp_async_wait_all")
    emitter.insert(CpAsyncCommitOp())
    emitter.insert(CpAsyncWaitOp(0))
