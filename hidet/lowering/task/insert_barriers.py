"""The pass `insert-barriers`: a barrier wherever threads exchange data through shared memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.dialects.compute import LoadOp, StoreOp
from hidet.dialects.cuda import SyncThreadsOp
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.marks import EXPLICIT
from hidet.dialects.cuda.table_ops import InstructionOp
from hidet.dialects.shaped import shaped_type
from hidet.dialects.task import CombineOp, CopyOp, ForeachOp, MatmulOp
from hidet.lowering.kernels import kernels_of


@dataclass
class Accesses:
    """The shared tiles that ops read and write."""

    reads: set[SSAValue] = field(default_factory=lambda: set[SSAValue]())
    writes: set[SSAValue] = field(default_factory=lambda: set[SSAValue]())

    def add(self, other: Accesses) -> None:
        """Take another set of accesses in."""
        self.reads |= other.reads
        self.writes |= other.writes

    def conflicts(self, later: Accesses) -> bool:
        """Whether later accesses must wait for these: one of the two writes what both touch."""
        return bool(self.writes & (later.reads | later.writes) or self.reads & later.writes)

    def clear(self) -> None:
        """Forget all accesses: a barrier has ordered them."""
        self.reads.clear()
        self.writes.clear()


def accesses_of(op: Operation) -> Accesses:
    """Return the shared tiles that one op, with all that it contains, reads and writes."""
    found = Accesses()
    for inner in op.walk():
        match inner:
            case LoadOp():
                reads, writes = [inner.source], []
            case memref.LoadOp():
                reads, writes = [inner.memref], []
            case StoreOp():
                reads, writes = [], [inner.target]
            case memref.StoreOp():
                reads, writes = [], [inner.memref]
            case CopyOp():
                reads, writes = [inner.source], [inner.target]
            case MatmulOp():
                reads, writes = [inner.lhs, inner.rhs], [inner.accumulator]
            case InstructionOp():
                reads, writes = [*inner.reads], [*inner.writes]
            case _:
                continue
        found.reads.update(value for value in reads if _is_shared(value))
        found.writes.update(value for value in writes if _is_shared(value))
    return found


def _is_shared(value: SSAValue) -> bool:
    return isinstance(value.type, MemRefType) and space_of(shaped_type(value)) is Space.SHARED


def _order(block: Block, pending: Accesses) -> None:
    """Put barriers into a block, given the accesses since the last barrier before it.

    Afterwards `pending` holds the accesses since the last barrier at the end of the block.
    """
    for op in list(block.ops):
        if isinstance(op, SyncThreadsOp):
            pending.clear()
        elif isinstance(op, scf.ForOp) and _is_collective(op):
            _order_loop(op, pending)
        elif isinstance(op, scf.IfOp) and _is_collective(op):
            _order_branch(op, pending)
        else:
            _wait(op, accesses_of(op), pending)
            pending.add(accesses_of(op))


def _order_loop(op: scf.ForOp, pending: Accesses) -> None:
    """Put barriers into a loop and before it.

    The body is gone through twice: the second round starts with what the end of the body leaves
    pending, and so finds the barriers that the back edge needs. Only then it is known what the
    first iteration meets: where that has to wait for what is before the loop, it waits there.
    """
    inside = Accesses()
    _order(op.body.block, inside)
    _order(op.body.block, inside)
    first = Accesses()
    _expose(op.body.block, first)
    _wait(op, first, pending)
    pending.add(inside)


def _order_branch(op: scf.IfOp, pending: Accesses) -> None:
    """Put barriers into the arms of a branch; either of them may be what comes before the rest."""
    before, after = Accesses(), Accesses()
    before.add(pending)
    for region in op.regions:
        arm = Accesses()
        arm.add(before)
        if region.blocks:
            _order(region.block, arm)
        after.add(arm)
    pending.clear()
    pending.add(after)


def _wait(op: Operation, accesses: Accesses, pending: Accesses) -> None:
    """Put a barrier before an op if what it accesses has to wait for pending accesses."""
    if pending.conflicts(accesses):
        Rewriter.insert_op(SyncThreadsOp(), InsertPoint.before(op))
        pending.clear()


def _expose(block: Block, exposed: Accesses) -> bool:
    """Collect what a block accesses before its first barrier; return whether it always has one."""
    for op in block.ops:
        if isinstance(op, SyncThreadsOp):
            return True
        if isinstance(op, scf.ForOp | scf.IfOp) and _is_collective(op):
            blocks = [inner for region in op.regions for inner in region.blocks]
            ends = [_expose(inner, exposed) for inner in blocks]
            if isinstance(op, scf.IfOp) and all(ends) and len(ends) > 1:
                return True
        else:
            exposed.add(accesses_of(op))
    return False


def _is_collective(op: Operation) -> bool:
    """Return whether all threads go through a loop or branch together, so that they can meet there.

    They do where it holds ops for which they have to. In others each thread may go its own way.
    """
    return any(isinstance(inner, _COLLECTIVE) for inner in op.walk())


_COLLECTIVE = (ForeachOp, CopyOp, MatmulOp, CombineOp, SyncThreadsOp)


@dataclass(frozen=True)
class InsertBarriersPass(ModulePass):
    """Insert `cuda.sync_threads` between task ops that touch the same shared tile.

    Expects kernels of collective task ops, one after the other under uniform control flow; leaves
    a barrier before an op that reads what another thread may have written since the last barrier,
    or overwrites what another may still read. Barriers that are there already count. A task op
    itself is not looked into: threads of one `task.foreach` must not depend on each other. Nor are
    loops and branches without task ops, in which threads may go different ways. Kernels that are
    marked `cuda.explicit` have their barriers.
    """

    name = "insert-barriers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Insert barriers into every kernel of the module."""
        for kernel in kernels_of(op):
            if EXPLICIT in kernel.attributes:
                continue
            _order(kernel.body.block, Accesses())
