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
from hidet.dialects.shaped import shaped_type
from hidet.dialects.task import CopyOp, MatmulOp
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
            case _:
                continue
        found.reads.update(value for value in reads if _is_shared(value))
        found.writes.update(value for value in writes if _is_shared(value))
    return found


def _is_shared(value: SSAValue) -> bool:
    return isinstance(value.type, MemRefType) and space_of(shaped_type(value)) is Space.SHARED


def _order(block: Block, pending: Accesses) -> None:
    """Put barriers into a block, given the accesses since the last barrier before it.

    Afterwards `pending` holds the accesses since the last barrier at the end of the block. A loop
    is gone through twice: the second round sees what the end of the body leaves pending for its
    start, which finds the barriers that the back edge needs.
    """
    for op in list(block.ops):
        if isinstance(op, SyncThreadsOp):
            pending.clear()
        elif isinstance(op, scf.ForOp):
            entry = Accesses(set(pending.reads), set(pending.writes))
            _order(op.body.block, pending)
            _order(op.body.block, pending)
            pending.add(entry)  # the loop may run zero times
        else:
            accesses = accesses_of(op)
            if pending.conflicts(accesses):
                Rewriter.insert_op(SyncThreadsOp(), InsertPoint.before(op))
                pending.clear()
            pending.add(accesses)


@dataclass(frozen=True)
class InsertBarriersPass(ModulePass):
    """Inserts `cuda.sync_threads` between task ops that touch the same shared tile.

    Expects kernels of collective task ops, one after the other under uniform control flow; leaves
    a barrier before an op that reads what another thread may have written since the last barrier,
    or overwrites what another may still read. Barriers that are there already count. A task op
    itself is not looked into: threads of one `task.foreach` must not depend on each other.
    """

    name = "insert-barriers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Insert barriers into every kernel of the module."""
        for kernel in kernels_of(op):
            _order(kernel.body.block, Accesses())
