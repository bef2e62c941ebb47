"""The pass `insert-barriers`: inserts barriers between conflicting accesses to shared memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property

from xdsl.dialects import memref, scf
from xdsl.ir import Block, Operation, SSAValue

from hidet.analysis.divergence import Divergence, DivergenceAnalysis, analyse_divergence
from hidet.analysis.memory import READ, WRITE, is_arithmetic, root_of
from hidet.dialects.cuda import BarrierSyncOp, KernelOp, SyncThreadsOp, SyncVoteOp
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.instructions import BlockBarrier
from hidet.dialects.cuda.marks import EXPLICIT
from hidet.dialects.effects import accessed, effects_of, has_trait
from hidet.dialects.shaped import is_memref
from hidet.dialects.task import CombineOp, CopyOp, ForeachOp, GroupOp, MatmulOp
from hidet.dialects.task.marks import RING
from hidet.dialects.walking import ops_in, ops_of_block, ops_of_class
from hidet.lowering.task.groups import insert_barrier, workers_of
from hidet.rewriting.builder import KernelBuilder
from hidet.rewriting.kernel_pass import KernelPass


@dataclass
class Accesses:
    """The shared tiles that ops read and write."""

    reads: set[SSAValue] = field(default_factory=lambda: set[SSAValue]())
    writes: set[SSAValue] = field(default_factory=lambda: set[SSAValue]())

    def add(self, other: Accesses) -> None:
        """Add other accesses."""
        self.reads |= other.reads
        self.writes |= other.writes

    def conflicts(self, later: Accesses) -> bool:
        """Return whether later accesses depend on these: RAW, WAR or WAW."""
        return bool(self.writes & (later.reads | later.writes) or self.reads & later.writes)


def accesses_of(op: Operation) -> Accesses:
    """Return the shared tiles that an op, nested ops included, reads and writes."""
    found = Accesses()
    for inner in ops_in(op):
        if not is_arithmetic(inner) and (effects := effects_of(inner)):
            found.reads.update(_shared_tiles(accessed(effects, READ)))
            found.writes.update(_shared_tiles(accessed(effects, WRITE)))
    return found


def _shared_tiles(values: Iterable[SSAValue | None]) -> set[SSAValue]:
    """Return the shared tiles among values whose accesses are not ordered yet."""
    return {
        root_of(value)
        for value in values
        if value is not None
        and is_memref(value.type)
        and space_of(value.type) is Space.SHARED
        and not (isinstance(value.owner, memref.AllocaOp) and RING in value.owner.attributes)
    }


@dataclass
class Pending:
    """Accesses since the last barrier of the block, by all its threads and by each group.

    `own` are those of `groups` since the last barrier of the group.
    """

    block: Accesses = field(default_factory=Accesses)
    groups: dict[GroupOp, Accesses] = field(default_factory=dict[GroupOp, Accesses])
    own: dict[GroupOp, Accesses] = field(default_factory=dict[GroupOp, Accesses])

    def add(self, other: Pending) -> None:
        """Add other accesses."""
        self.block.add(other.block)
        for mine, theirs in ((self.groups, other.groups), (self.own, other.own)):
            for group, accesses in theirs.items():
                mine.setdefault(group, Accesses()).add(accesses)

    def conflicts(self, later: Pending) -> bool:
        """Return whether a block barrier is needed before later accesses.

        A group synchronizes itself at its own barrier; disjoint groups are not synchronized.
        """
        everything = [later.block, *later.groups.values()]
        return (
            any(self.block.conflicts(each) for each in everything)
            or any(each.conflicts(later.block) for each in self.groups.values())
            or any(
                before.conflicts(after)
                for group, before in self.groups.items()
                for other, after in later.groups.items()
                if group.threads != other.threads and group.overlaps(other)
            )
        )

    def of(self, group: GroupOp) -> Accesses:
        """Return the accesses of a group's threads since their last own barrier."""
        found = Accesses()
        for other, accesses in self.own.items():
            if other.threads == group.threads:
                found.add(accesses)
        return found

    def clear(self) -> None:
        """Drop all accesses, after a barrier."""
        self.block = Accesses()
        self.groups.clear()
        self.own.clear()


class _Barriers:
    """Inserts barriers into one kernel."""

    def __init__(self, kernel: KernelOp) -> None:
        self.kernel = kernel
        # Loops are visited several times; barriers that are inserted access no tile.
        self._accesses_of = cache(accesses_of)

    @cached_property
    def divergence(self) -> DivergenceAnalysis:
        """The divergence analysis of the kernel, which barriers do not invalidate."""
        return analyse_divergence(self.kernel)

    def order(self, block: Block, pending: Pending) -> None:
        """Insert barriers into a block.

        `pending` are the accesses since the last barrier, and is updated.
        """
        for op in ops_of_block(block):
            if is_arithmetic(op):
                continue
            if self._is_barrier(op):
                pending.clear()
            elif isinstance(op, GroupOp):
                self._order_group(op, pending)
            elif isinstance(op, scf.ForOp | scf.WhileOp) and self.is_collective(op):
                self._order_loop(op, pending)
            elif isinstance(op, scf.IfOp) and self.is_collective(op):
                self._order_branch(op, pending)
            else:
                accesses = Pending(self._accesses_of(op))
                self._wait(op, accesses, pending)
                pending.add(accesses)

    def _order_group(self, op: GroupOp, pending: Pending) -> None:
        """Insert barriers inside and before a group.

        The group's own barriers do not synchronize other threads.
        """
        inside = Pending(groups={op: self._accesses_of(op)})
        self._wait(op, inside, pending)
        own = Pending(pending.of(op))
        self.order(op.body.block, own)
        for other in [other for other in pending.own if other.threads == op.threads]:
            del pending.own[other]
        inside.own[op] = own.block
        pending.add(inside)

    def _order_loop(self, op: scf.ForOp | scf.WhileOp, pending: Pending) -> None:
        """Insert barriers into a loop and before it.

        The body is visited twice: the second visit starts with the accesses pending at its end, and
        so inserts the barriers for loop-carried dependences. The accesses of the first iteration
        before its first barrier are then checked against those before the loop.
        """
        blocks = [region.block for region in op.regions]
        inside = Pending()
        for block in (*blocks, *blocks):
            self.order(block, inside)
        first = Pending()
        for block in blocks:
            if self._expose(block, first):
                break
        self._wait(op, first, pending)
        pending.add(inside)

    def _order_branch(self, op: scf.IfOp, pending: Pending) -> None:
        """Insert barriers into both arms of a branch and merge what is pending after them."""
        after = Pending()
        for region in op.regions:
            arm = Pending()
            arm.add(pending)
            if region.blocks:
                self.order(region.block, arm)
            after.add(arm)
        pending.clear()
        pending.add(after)

    def _expose(self, block: Block, exposed: Pending) -> bool:
        """Collect the accesses of a block before its first barrier; return whether it has one."""
        for op in block.ops:
            if self._is_barrier(op):
                return True
            if isinstance(op, GroupOp):
                accesses = self._accesses_of(op)
                exposed.add(Pending(groups={op: accesses}, own={op: accesses}))
            elif isinstance(op, scf.ForOp | scf.WhileOp | scf.IfOp) and self.is_collective(op):
                blocks = [inner for region in op.regions for inner in region.blocks]
                ends = [self._expose(inner, exposed) for inner in blocks]
                if isinstance(op, scf.IfOp) and all(ends) and len(ends) > 1:
                    return True
            elif not is_arithmetic(op):
                exposed.add(Pending(self._accesses_of(op)))
        return False

    def is_collective(self, op: Operation) -> bool:
        """Return whether a loop or branch holds collective ops and is executed uniformly."""
        return (
            bool(ops_of_class(op, *_COLLECTIVE))
            and self.divergence.of_flow(op) is Divergence.NOWHERE
        )

    @staticmethod
    def _is_barrier(op: Operation) -> bool:
        """Return whether an op synchronizes all threads that execute it."""
        if not isinstance(op, BarrierSyncOp):
            return has_trait(type(op), BlockBarrier)
        return op.count.value.data == workers_of(op)

    @staticmethod
    def _wait(op: Operation, later: Pending, pending: Pending) -> None:
        """Insert a barrier before an op if its accesses conflict with pending ones."""
        conflict = pending.conflicts(later)
        if isinstance(op, scf.ForOp | scf.WhileOp):  # groups inside are not synchronized yet
            conflict |= any(pending.of(g).conflicts(each) for g, each in later.groups.items())
        if conflict:
            insert_barrier(KernelBuilder.like(op), op)
            pending.clear()


_VERBS = (CopyOp, MatmulOp, CombineOp)
_COLLECTIVE = (*_VERBS, ForeachOp, GroupOp, SyncThreadsOp, SyncVoteOp)


class InsertBarriersPass(KernelPass):
    """Insert `cuda.sync_threads` between task ops that touch the same shared tile.

    Expects kernels of collective task ops under uniform control flow. Inserts a barrier before an
    op that reads what another thread may have written since the last barrier, or overwrites what
    another may still read. Existing barriers count. The pass does not look into task ops:
    iterations of one `task.foreach` must be independent. It does not look into loops and branches
    without task ops or under divergent control flow either; those need explicit barriers. In a
    `task.group` it inserts named barriers of the group. Kernels marked `cuda.explicit` are left
    alone unless they use `task.copy`, `task.matmul` or `task.combine`.
    """

    name = "insert-barriers"

    def run(self, kernel: KernelOp) -> None:
        """Insert barriers into one kernel."""
        has_verbs = bool(ops_of_class(kernel, *_VERBS))
        if has_verbs or EXPLICIT not in kernel.attributes:
            _Barriers(kernel).order(kernel.body.block, Pending())
