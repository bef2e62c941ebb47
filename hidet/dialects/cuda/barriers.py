"""Synchronization ops: votes, fences, barriers of a block, and mbarriers.

Also ops of warp specialization: register reallocation.
"""

from typing import ClassVar

from xdsl.dialects.builtin import (
    I64,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    i1,
    i32,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from hidet.arch.hopper import MBARRIER, REGISTER_COUNTS, SETMAXNREG
from hidet.arch.instructions import Instruction
from hidet.arch.limits import MAX_THREADS_PER_BLOCK, WARP
from hidet.dialects.cuda.instructions import BlockBarrier, Collective, WarpCollective
from hidet.dialects.cuda.table_ops import InstructionOp
from hidet.dialects.effects import MachineEffect
from hidet.dialects.fields import Field, FieldsOp, enum_attribute

BLOCK_VOTES: dict[str, Instruction] = {
    kind: Instruction(f"sync_threads_{kind}", (), f"barrier.cta.red.{ptx}.aligned", 50, orders=True)
    for kind, ptx in (("and", "and.pred"), ("or", "or.pred"), ("count", "popc.u32"))
}
"""Block barriers with a reduction, by kind."""

EFFECTS: dict[str, Instruction] = {
    name: Instruction(name, (), ptx, arch, orders=True)
    for name, ptx, arch in (
        ("fence_cta", "fence.acq_rel.cta", 50),
        ("fence_gpu", "fence.acq_rel.gpu", 50),
        ("fence_sys", "fence.acq_rel.sys", 50),
        ("fence_proxy_async_global", "fence.proxy.async.global", 90),
        ("nanosleep", "nanosleep.u32", 70),
    )
}
"""Side effects of one thread that are no memory accesses, by name."""

EFFECT_OPERANDS: dict[str, int] = {"nanosleep": 1}
"""The number of i32 operands of an effect; 0 by default."""

BlockVote = StrEnum("BlockVote", "AND OR COUNT")
"""The reduction of a block barrier, as in CUDA's `__syncthreads_*`."""

BlockVoteAttr = enum_attribute("cuda.block_vote", BlockVote)


@irdl_op_definition
class SyncVoteOp(InstructionOp):
    """`cuda.sync_vote and %p : i1`: a barrier of the block with a reduction of a predicate.

    `and` and `or` return an i1, `count` the number of threads with a true predicate as an i32. Like
    `cuda.sync_threads` it orders memory accesses.
    """

    name = "cuda.sync_vote"
    ENTRY: ClassVar = BLOCK_VOTES
    KEY: ClassVar = "kind"

    kind = prop_def(BlockVoteAttr)
    predicate = operand_def(i1)
    result = result_def(IntegerType)

    assembly_format = "$kind $predicate attr-dict `:` type($result)"
    traits = traits_def(BlockBarrier(), Collective())

    def __init__(self, kind: BlockVote, predicate: Field) -> None:
        super().__init__(kind, predicate, _result_of_vote(kind))

    def verify_(self) -> None:
        """Check the type of the result."""
        _verify_vote(self.kind.data, self.result.type)


@irdl_op_definition
class EffectOp(InstructionOp):
    """`cuda.effect "fence_gpu"()`: a side effect of one thread, an entry of `EFFECTS`.

    Fences order the accesses before and after them for the threads of the block (`fence_cta`), of
    the GPU, or of the system (`fence_sys`). `"nanosleep"(%ns)` sleeps for about %ns nanoseconds.
    """

    name = "cuda.effect"
    ENTRY: ClassVar = EFFECTS
    KEY: ClassVar = "callee"

    callee = prop_def(StringAttr)
    numbers = var_operand_def(i32)

    assembly_format = "$callee `(` $numbers `)` attr-dict"

    def verify_(self) -> None:
        """Check the number of operands."""
        wanted = EFFECT_OPERANDS.get(self.instruction.function, 0)
        if len(self.numbers) != wanted:
            raise VerifyException(
                f"'{self.callee.data}' takes {wanted} numbers, not {len(self.numbers)}"
            )


VoteKind = StrEnum("VoteKind", "ANY ALL BALLOT")
"""The reduction of a warp vote, as in CUDA's `__*_sync`."""

VoteKindAttr = enum_attribute("cuda.vote_kind", VoteKind)


@irdl_op_definition
class VoteOp(FieldsOp):
    """`cuda.vote any %p : i1`: a reduction of a predicate over a warp (PTX ISA, `vote.sync`).

    All 32 lanes participate, or with `mask %m` those whose bits are set. `any` and `all` return an
    i1, `ballot` an i32 with a bit per lane.
    """

    name = "cuda.vote"

    kind = prop_def(VoteKindAttr)
    predicate = operand_def(i1)
    mask = opt_operand_def(i32)
    result = result_def(IntegerType)

    assembly_format = "$kind $predicate (`mask` $mask^)? attr-dict `:` type($result)"
    traits = traits_def(Collective(), MachineEffect())

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
class ActiveMaskOp(FieldsOp):
    """`cuda.active_mask`: a bit for each active lane of the warp (PTX ISA, `activemask`).

    It does not synchronize: lanes of other branches are not included, nor necessarily lanes that
    will reconverge here.
    """

    name = "cuda.active_mask"

    result = result_def(i32)

    assembly_format = "attr-dict"
    traits = traits_def(MachineEffect())


class _NamedBarrierOp(InstructionOp):
    """A named barrier of some warps of the block."""

    TEMPLATE: ClassVar = ("count",)

    barrier = operand_def(i32)
    count = prop_def(IntegerAttr[I64])

    assembly_format = "$barrier `count` $count attr-dict"
    traits = traits_def(WarpCollective())

    def verify_(self) -> None:
        """Check the number of threads (PTX ISA, barrier: a multiple of the warp's size)."""
        super().verify_()
        count = self.count.value.data
        if count % WARP or not 0 < count <= MAX_THREADS_PER_BLOCK:
            raise VerifyException(f"a barrier is for whole warps of a block, not {count} threads")


@irdl_op_definition
class BarrierSyncOp(_NamedBarrierOp):
    """`cuda.barrier_sync %id count 128`: waits for `count` threads at a named barrier.

    A block has 16 of them, 0 to 15; number 0 is that of `cuda.sync_threads`.
    """

    name = "cuda.barrier_sync"
    ENTRY: ClassVar = Instruction("barrier_sync", (), "barrier.cta.sync.aligned", 70, orders=True)


@irdl_op_definition
class BarrierArriveOp(_NamedBarrierOp):
    """`cuda.barrier_arrive %id count 128`: arrives at a named barrier without waiting."""

    name = "cuda.barrier_arrive"
    ENTRY: ClassVar = Instruction(
        "barrier_arrive", (), "barrier.cta.arrive.aligned", 70, orders=True
    )


@irdl_op_definition
class SetMaxNregOp(InstructionOp):
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
    count = prop_def(IntegerAttr[I64])

    assembly_format = "$action $count attr-dict"
    traits = traits_def(WarpCollective())

    def verify_(self) -> None:
        """Check the number of registers (PTX ISA, setmaxnreg)."""
        super().verify_()
        if self.count.value.data not in REGISTER_COUNTS:
            raise VerifyException(
                f"a thread has 24, 32, ... 256 registers, not {self.count.value.data}"
            )


def _mbarrier(name: str, ptx: str, scope: str = "cta") -> Instruction:
    full = f"mbarrier.{ptx}.shared::{scope}.b64"
    return Instruction(f"mbarrier_{name}", (MBARRIER,), full, 90, orders=True)


class _BarrierOp(InstructionOp):
    """An instruction on an mbarrier with an i32 operand."""

    barrier = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    number = operand_def(i32)


@irdl_op_definition
class MbarrierInitOp(_BarrierOp):
    """`cuda.mbarrier_init %b[%i] count %n`: initializes an mbarrier whose phases take n arrivals.

    One thread executes it; a `cuda.fence_mbarrier_init` and a block barrier precede the first use
    by others.
    """

    name = "cuda.mbarrier_init"
    ENTRY: ClassVar = _mbarrier("init", "init")

    assembly_format = "$barrier `[` $indices `]` `count` $number attr-dict `:` type($barrier)"


@irdl_op_definition
class MbarrierExpectOp(_BarrierOp):
    """`cuda.mbarrier_arrive_expect_tx %b[%i] bytes %n`: arrives, and adds n bytes to the phase."""

    name = "cuda.mbarrier_arrive_expect_tx"
    ENTRY: ClassVar = _mbarrier("arrive_expect_tx", "arrive.expect_tx")

    assembly_format = "$barrier `[` $indices `]` `bytes` $number attr-dict `:` type($barrier)"


@irdl_op_definition
class MbarrierWaitOp(_BarrierOp):
    """`cuda.mbarrier_wait %b[%i] parity %p`: waits for the completion of the phase with a parity.

    The first phase has parity 0; for a new mbarrier, the preceding phase of parity 1 is complete.
    """

    name = "cuda.mbarrier_wait"
    ENTRY: ClassVar = _mbarrier("wait", "try_wait.parity")

    assembly_format = "$barrier `[` $indices `]` `parity` $number attr-dict `:` type($barrier)"


class _LoneBarrierOp(InstructionOp):
    """An instruction on an mbarrier without other operands."""

    barrier = operand_def(MemRefType)
    indices = var_operand_def(IndexType)

    assembly_format = "$barrier `[` $indices `]` attr-dict `:` type($barrier)"


@irdl_op_definition
class MbarrierArriveOp(_LoneBarrierOp):
    """`cuda.mbarrier_arrive %b[%i]`: arrives at an mbarrier."""

    name = "cuda.mbarrier_arrive"
    ENTRY: ClassVar = _mbarrier("arrive", "arrive")


@irdl_op_definition
class MbarrierInvalidateOp(_LoneBarrierOp):
    """`cuda.mbarrier_invalidate %b[%i]`: invalidates an mbarrier, whose memory can be reused.

    One thread executes it, after all uses.
    """

    name = "cuda.mbarrier_invalidate"
    ENTRY: ClassVar = _mbarrier("invalidate", "inval")


@irdl_op_definition
class CpAsyncBarrierArriveOp(_LoneBarrierOp):
    """`cuda.cp_async_barrier_arrive %b[%i]`: arrives when prior `cuda.cp_async` complete.

    This arrival is in addition to the expected count of the phase.
    """

    name = "cuda.cp_async_barrier_arrive"
    ENTRY: ClassVar = Instruction(
        "cp_async_barrier_arrive",
        (MBARRIER,),
        "cp.async.mbarrier.arrive.shared::cta.b64",
        90,
        orders=True,
    )


@irdl_op_definition
class MbarrierArriveClusterOp(_BarrierOp):
    """`cuda.mbarrier_arrive_cluster %b[%i] block %r`: arrives at the mbarrier of another block.

    It is the mbarrier at the same shared address in block r of the cluster.
    """

    name = "cuda.mbarrier_arrive_cluster"
    ENTRY: ClassVar = _mbarrier("arrive_cluster", "arrive", "cluster")

    assembly_format = "$barrier `[` $indices `]` `block` $number attr-dict `:` type($barrier)"
