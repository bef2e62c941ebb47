"""What scripts enter by `with`: groups of warps, which do the body alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hidet.arch.instructions import WARP
from hidet.dialects.cuda.attributes import Dimension
from hidet.errors import ScriptError
from hidet.frontends.script.emitter import Emitter
from hidet.frontends.script.operands import known_number
from hidet.frontends.script.tracing import current
from hidet.frontends.script.values import Scalar, describe

THREADS = 4 * WARP
"""The threads of a group of warps, as `wgmma` has them."""


@dataclass(frozen=True)
class WarpGroups:
    """`warp_groups([1, 2])`: neighbouring groups of four warps.

    Attributes:
        first: the first thread.
        end: the one behind the last.
    """

    first: int
    end: int

    def enter(self, emitter: Emitter) -> tuple[object, Scalar]:
        """Return the condition of being in the groups, and the number of the thread in them."""
        thread = emitter.thread_id(Dimension.X)
        threads = (emitter.shape.block or (None,))[0]
        is_last = isinstance(threads, int) and threads == self.end
        before = True if is_last else thread < self.end
        if self.first == 0:
            return before, thread
        after = thread >= self.first
        is_inside = after & before if isinstance(before, Scalar) else after
        return is_inside, thread - self.first


def warp_groups(group_ids: Iterable[int]) -> WarpGroups:
    """Return what lets groups of four warps work alone, for `with ... as thread`.

    The thread counts from the first one of the groups on.

    Args:
        group_ids: the groups, which follow each other: group g has threads 128 * g to
            128 * g + 127 along x.

    Raises:
        ScriptError: the block has no such groups, or they do not follow each other.
    """
    emitter = current("warp_groups")
    if not isinstance(group_ids, list | tuple | range) or not group_ids:
        raise ScriptError(
            f"warp_groups takes a list of groups, not {describe(group_ids)}",
            hint="with warp_groups([0, 1]) as thread",
        )
    groups = sorted(known_number("a group of warps", each, range(8)) for each in group_ids)
    if groups != list(range(groups[0], groups[-1] + 1)):
        raise ScriptError(
            f"the groups of warps {list(group_ids)} do not follow each other",
            hint="enter each of them by a 'with' of its own",
        )
    block = (emitter.shape.block or (None,))[0]
    if isinstance(block, int) and (groups[-1] + 1) * THREADS > block:
        raise ScriptError(
            f"a block of {block} threads has no groups of warps {groups}",
            hint=f"a group has {THREADS} threads; attrs.cuda.block_dim is set before",
        )
    return WarpGroups(groups[0] * THREADS, (groups[-1] + 1) * THREADS)
