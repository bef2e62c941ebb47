"""Synchronization: votes, barriers, fences, commit groups, dependent launches, warp specialization.

Instructions that differ in little but their names are rows, each with an entry of the instruction
table.
"""

from functools import partial
from typing import ClassVar, TypeVar

from xdsl.dialects.builtin import IntegerType, StringAttr, i1, i32
from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from hidet.arch.hopper import MBARRIER, REGISTER_COUNTS, SETMAXNREG
from hidet.arch.instructions import Instruction
from hidet.arch.limits import MAX_THREADS_PER_BLOCK, WARP
from hidet.dialects.cuda.instructions import BlockBarrier, Collective
from hidet.dialects.cuda.table_ops import InstructionOp, WarpInstructionOp
from hidet.dialects.effects import MachineOp
from hidet.dialects.fields import Field, define, element_def, enum_attribute, one_of

BLOCK_VOTES: dict[str, Instruction] = {
    kind: Instruction(f"sync_threads_{kind}", (), f"barrier.cta.red.{ptx}.aligned", 50, orders=True)
    for kind, ptx in (("and", "and.pred"), ("or", "or.pred"), ("count", "popc.u32"))
}
"""Block barriers with a reduction, by kind."""

BlockVote = StrEnum("BlockVote", "AND OR COUNT")
"""The reduction of a block barrier, as in CUDA's `__syncthreads_*`."""


@irdl_op_definition
class SyncVoteOp(InstructionOp):
    """`cuda.sync_vote and %p : i1`: a barrier of the block with a reduction of a predicate.

    `and` and `or` return an i1, `count` the number of threads with a true predicate as an i32. Like
    `cuda.sync_threads` it orders memory accesses.
    """

    name = "cuda.sync_vote"
    ENTRY: ClassVar = BLOCK_VOTES
    KEY: ClassVar = "kind"

    kind = prop_def(enum_attribute("cuda.block_vote", BlockVote))
    predicate = operand_def(i1)
    result = result_def(IntegerType)

    assembly_format = "$kind $predicate attr-dict `:` type($result)"
    traits = traits_def(BlockBarrier(), Collective())

    def __init__(self, kind: BlockVote, predicate: Field) -> None:
        super().__init__(kind, predicate, _result_of_vote(kind))

    def verify_(self) -> None:
        """Check the type of the result."""
        _verify_vote(self.kind.data, self.result.type)


VoteKind = StrEnum("VoteKind", "ANY ALL BALLOT")
"""The reduction of a warp vote, as in CUDA's `__*_sync`."""


@irdl_op_definition
class VoteOp(MachineOp):
    """`cuda.vote any %p : i1`: a reduction of a predicate over a warp (PTX ISA, `vote.sync`).

    All 32 lanes participate, or with `mask %m` those whose bits are set. `any` and `all` return an
    i1, `ballot` an i32 with a bit per lane.
    """

    name = "cuda.vote"

    kind = prop_def(enum_attribute("cuda.vote_kind", VoteKind))
    predicate = operand_def(i1)
    mask = opt_operand_def(i32)
    result = result_def(IntegerType)

    assembly_format = "$kind $predicate (`mask` $mask^)? attr-dict `:` type($result)"
    traits = traits_def(Collective())

    def __init__(self, kind: VoteKind, predicate: Field, mask: Field = None) -> None:
        super().__init__(kind, predicate, mask, _result_of_vote(kind))

    def verify_(self) -> None:
        """Check the type of the result."""
        _verify_vote(self.kind.data, self.result.type)


def _result_of_vote(kind: BlockVote | VoteKind) -> IntegerType:
    return i32 if kind in (BlockVote.COUNT, VoteKind.BALLOT) else i1


def _verify_vote(kind: BlockVote | VoteKind, result: Attribute) -> None:
    if result != _result_of_vote(kind):
        raise VerifyException(f"'{kind.value}' returns {_result_of_vote(kind)}")


@irdl_op_definition
class ActiveMaskOp(MachineOp):
    """`cuda.active_mask`: a bit for each active lane of the warp (PTX ISA, `activemask`).

    It does not synchronize: lanes of other branches are not included, nor necessarily lanes that
    will reconverge here.
    """

    name = "cuda.active_mask"

    result = result_def(i32)

    assembly_format = "attr-dict"


@irdl_op_definition
class SetMaxNregOp(WarpInstructionOp):
    """`cuda.setmaxnreg "inc" 232`: acquires registers per thread; `"dec"` releases them.

    All warps of a warp group execute it. The released registers must become available to groups
    that increase theirs. The kernel states its resident blocks, so that the compiler knows the
    total.
    """

    name = "cuda.setmaxnreg"
    ENTRY: ClassVar = SETMAXNREG
    KEY: ClassVar = "action"
    TEMPLATE: ClassVar = ("count",)

    action = prop_def(StringAttr)
    count = prop_def(one_of(REGISTER_COUNTS, "a thread has 24, 32, ... 256 registers, not {}"))

    assembly_format = "$action $count attr-dict"


Base = TypeVar("Base", bound=InstructionOp)


def _define(
    base: type[Base], syntax: str, summary: str, entry: Instruction, **fields: object
) -> type[Base]:
    """Return the op `cuda.<function>` of an instruction, with the fields of a base class."""
    name = f"cuda.{entry.function}"
    fields |= {"ENTRY": entry, "__module__": __name__}
    return define(base, name, f"`{name}{syntax}`: {summary}", **fields)


_plain = partial(_define, InstructionOp, "", assembly_format="attr-dict")
_of_warp = partial(_define, WarpInstructionOp, "", assembly_format="attr-dict")

# ---- groups --------------------------------------------------------------------------------------


class GroupWaitOp(InstructionOp):
    """A wait until at most `pending` commit groups are in flight."""

    TEMPLATE: ClassVar = ("pending",)

    pending = prop_def(one_of(range(1 << 31), "{} groups cannot be in flight"))

    assembly_format = "$pending attr-dict"


CpAsyncCommitOp = _plain(
    "commits the thread's copies since the last commit as a group.",
    Instruction("cp_async_commit", (), "cp.async.commit_group", 80),
)
CpAsyncWaitOp = _define(
    GroupWaitOp,
    " 1",
    "waits until at most that many of the thread's groups are in flight.\n\n"
    "Other threads see the copied elements only after a barrier.",
    Instruction("cp_async_wait", (), "cp.async.wait_group", 80, orders=True),
)
TmaCommitOp = _plain(
    "commits the thread's stores since the last commit as a group.",
    Instruction("tma_commit", (), "cp.async.bulk.commit_group", 90),
)
TmaWaitOp = _define(
    GroupWaitOp,
    " 0",
    "waits until at most that many groups of stores still read shared memory.",
    Instruction("tma_wait", (), "cp.async.bulk.wait_group.read", 90, orders=True),
)
WgmmaFenceOp = _of_warp(
    "orders register accesses before the first wgmma.",
    Instruction("wgmma_fence", (), "wgmma.fence.sync.aligned", 90, only=True),
)
WgmmaCommitOp = _of_warp(
    "commits the warp group's wgmma since the last commit as a group.",
    Instruction("wgmma_commit", (), "wgmma.commit_group.sync.aligned", 90, only=True),
)

# ---- kernels, and the blocks of a cluster --------------------------------------------------------

GridDependencyWaitOp = _plain(
    "waits for the preceding kernels and makes their writes visible.",
    Instruction("grid_dependency_wait", (), "griddepcontrol.wait", 90, orders=True),
)
LaunchDependentsOp = _plain(
    "lets the next kernel start once all blocks have executed it.",
    Instruction("launch_dependents", (), "griddepcontrol.launch_dependents", 90, orders=True),
)
ClusterArriveOp = _of_warp(
    "arrives at the cluster barrier without waiting.\n\nWhole warps do; those that have ended are "
    "not waited for.",
    Instruction("cluster_arrive", (), "barrier.cluster.arrive.aligned", 90, orders=True),
)
ClusterWaitOp = _of_warp(
    "waits until all threads of the cluster have arrived at its barrier.",
    Instruction("cluster_wait", (), "barrier.cluster.wait.aligned", 90, orders=True),
)

# ---- fences, and sleep ---------------------------------------------------------------------------

FenceCtaOp, FenceGpuOp, FenceSysOp = (
    _plain(
        f"orders the accesses before and after it for the threads of {threads}.",
        Instruction(f"fence_{scope}", (), f"fence.acq_rel.{scope}", 50, orders=True),
    )
    for scope, threads in (("cta", "the block"), ("gpu", "the GPU"), ("sys", "the system"))
)
FenceMbarrierInitOp = _plain(
    "makes initialized mbarriers visible to other threads and the async proxy.",
    Instruction("fence_mbarrier_init", (), "fence.mbarrier_init.release.cluster", 90, orders=True),
)
FenceProxyAsyncOp = _plain(
    "makes the thread's shared stores visible to the async proxy (wgmma, TMA).",
    Instruction("fence_proxy_async", (), "fence.proxy.async.shared::cta", 90, orders=True),
)

FenceProxyAsyncGlobalOp = _plain(
    "orders accesses to global memory with those of the async proxy (TMA).",
    Instruction("fence_proxy_async_global", (), "fence.proxy.async.global", 90, orders=True),
)


@irdl_op_definition
class NanosleepOp(InstructionOp):
    """`cuda.nanosleep %n`: sleeps for about n nanoseconds."""

    name = "cuda.nanosleep"
    ENTRY: ClassVar = Instruction("nanosleep", (), "nanosleep.u32", 70, orders=True)

    nanoseconds = operand_def(i32)

    assembly_format = "$nanoseconds attr-dict"


# ---- barriers of warps ---------------------------------------------------------------------------


class NamedBarrierOp(WarpInstructionOp):
    """A named barrier of some warps of the block, which has 16; 0 is that of all its threads.

    The threads are whole warps (PTX ISA, barrier).
    """

    TEMPLATE: ClassVar = ("count",)

    barrier = operand_def(i32)
    count = prop_def(
        one_of(
            range(WARP, MAX_THREADS_PER_BLOCK + 1, WARP),
            "a barrier is for whole warps of a block, not {} threads",
        )
    )

    assembly_format = "$barrier `count` $count attr-dict"


BarrierSyncOp = _define(
    NamedBarrierOp,
    " %id count 128",
    "waits for `count` threads at a named barrier.",
    Instruction("barrier_sync", (), "barrier.cta.sync.aligned", 70, orders=True),
)
BarrierArriveOp = _define(
    NamedBarrierOp,
    " %id count 128",
    "arrives at a named barrier without waiting.",
    Instruction("barrier_arrive", (), "barrier.cta.arrive.aligned", 70, orders=True),
)

# ---- mbarriers -----------------------------------------------------------------------------------


class BarrierOp(InstructionOp):
    """An instruction on an mbarrier."""

    barrier, indices = element_def()

    assembly_format = "$barrier `[` $indices `]` attr-dict `:` type($barrier)"


class NumberedBarrierOp(InstructionOp):
    """An instruction on an mbarrier with an i32 operand."""

    barrier, indices = element_def()
    number = operand_def(i32)


def _mbarrier(name: str, ptx: str, scope: str = "cta") -> Instruction:
    full = f"mbarrier.{ptx}.shared::{scope}.b64"
    return Instruction(f"mbarrier_{name}", (MBARRIER,), full, 90, orders=True)


def _numbered(keyword: str, summary: str, entry: Instruction) -> type[NumberedBarrierOp]:
    """Return the op `cuda.<function> %b[%i] keyword %n`."""
    form = f"$barrier `[` $indices `]` `{keyword}` $number attr-dict `:` type($barrier)"
    syntax = f" %b[%i] {keyword} %n"
    return _define(NumberedBarrierOp, syntax, summary, entry, assembly_format=form)


MbarrierInitOp = _numbered(
    "count",
    "initializes an mbarrier whose phases take n arrivals.\n\nOne thread executes it; a "
    "`cuda.fence_mbarrier_init` and a block barrier precede the first use by others.",
    _mbarrier("init", "init"),
)
MbarrierExpectOp = _numbered(
    "bytes",
    "arrives, and adds n bytes to the phase.",
    _mbarrier("arrive_expect_tx", "arrive.expect_tx"),
)
MbarrierWaitOp = _numbered(
    "parity",
    "waits for the completion of the phase with a parity.\n\nThe first phase has parity 0; for a "
    "new mbarrier, the preceding phase of parity 1 is complete.",
    _mbarrier("wait", "try_wait.parity"),
)
MbarrierArriveClusterOp = _numbered(
    "block",
    "arrives at the mbarrier at the same shared address in block n of the cluster.",
    _mbarrier("arrive_cluster", "arrive", "cluster"),
)
MbarrierArriveOp = _define(
    BarrierOp, " %b[%i]", "arrives at an mbarrier.", _mbarrier("arrive", "arrive")
)
MbarrierInvalidateOp = _define(
    BarrierOp,
    " %b[%i]",
    "invalidates an mbarrier, whose memory can be reused.\n\n"
    "One thread executes it, after all uses.",
    _mbarrier("invalidate", "inval"),
)
CpAsyncBarrierArriveOp = _define(
    BarrierOp,
    " %b[%i]",
    "arrives when prior `cuda.cp_async` complete.\n\n"
    "This arrival is in addition to the expected count of the phase.",
    Instruction(
        "cp_async_barrier_arrive",
        (MBARRIER,),
        "cp.async.mbarrier.arrive.shared::cta.b64",
        90,
        orders=True,
    ),
)
