"""Where threads meet, and what they order: votes, fences, barriers of a block and in memory.

Also what warps and blocks do that work on different things: share out registers, hand over.
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
from hidet.dialects.enums import enum_attribute
from hidet.dialects.fields import Field, FieldsOp

BLOCK_VOTES: dict[str, Instruction] = {
    kind: Instruction(f"sync_threads_{kind}", (), f"barrier.cta.red.{ptx}.aligned", 50, orders=True)
    for kind, ptx in (("and", "and.pred"), ("or", "or.pred"), ("count", "popc.u32"))
}
"""Barriers of a block that give what its threads say together, by what they are asked."""

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
"""What a thread does by itself that is neither arithmetic nor an access, by name."""

EFFECT_OPERANDS: dict[str, int] = {"nanosleep": 1}
"""How many numbers of 32 bits an effect takes, where it takes any."""

BlockVote = StrEnum("BlockVote", "AND OR COUNT")
"""What the threads of a block are asked at a barrier, as by CUDA's `__syncthreads_*`."""

BlockVoteAttr = enum_attribute("cuda.block_vote", BlockVote)


@irdl_op_definition
class SyncVoteOp(InstructionOp):
    """`cuda.sync_vote and %p : i1`: a barrier of the block that gives what its threads say.

    `and` and `or` give an i1: whether the predicate holds for all threads, or for one of them;
    `count` gives an i32: for how many. Like `cuda.sync_threads` it orders their accesses.
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
    """`cuda.effect "fence_gpu"()`: what a thread does by itself, an entry of `EFFECTS`.

    Fences keep the accesses before them ahead of those after them, for the threads of the block
    (`fence_cta`), of the GPU, or of the whole machine (`fence_sys`). `"nanosleep"(%ns)` waits for
    about so many nanoseconds.
    """

    name = "cuda.effect"
    ENTRY: ClassVar = EFFECTS
    KEY: ClassVar = "callee"

    callee = prop_def(StringAttr)
    numbers = var_operand_def(i32)

    assembly_format = "$callee `(` $numbers `)` attr-dict"

    def verify_(self) -> None:
        """Check how many numbers there are."""
        wanted = EFFECT_OPERANDS.get(self.instruction.function, 0)
        if len(self.numbers) != wanted:
            raise VerifyException(
                f"'{self.callee.data}' takes {wanted} numbers, not {len(self.numbers)}"
            )


VoteKind = StrEnum("VoteKind", "ANY ALL BALLOT")
"""What the lanes of a warp are asked, as by CUDA's `__*_sync`."""

VoteKindAttr = enum_attribute("cuda.vote_kind", VoteKind)


@irdl_op_definition
class VoteOp(FieldsOp):
    """`cuda.vote any %p : i1`: what the lanes of the warp say together (PTX ISA, `vote.sync`).

    All 32 lanes take part, or with `mask %m` those whose bits are set. `any` and `all` give an i1,
    `ballot` an i32 with a bit for each lane.
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
    """Check the type of what a vote gives."""
    if result != _result_of_vote(kind):
        raise VerifyException(f"'{kind.value}' gives {_result_of_vote(kind)}")


@irdl_op_definition
class ActiveMaskOp(FieldsOp):
    """`cuda.active_mask`: a bit for each lane of the warp that is here now (PTX ISA, `activemask`).

    Nothing meets: lanes that take another branch are not among them, and of those that will come
    here by another way some may be missing.
    """

    name = "cuda.active_mask"

    result = result_def(i32)

    assembly_format = "attr-dict"
    traits = traits_def(MachineEffect())


class _NamedBarrierOp(InstructionOp):
    """A barrier of some warps of the block, known by its number."""

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
    """`cuda.barrier_sync %id count 128`: waits until so many threads have come to a barrier.

    A block has 16 of them, 0 to 15; number 0 is that of `cuda.sync_threads`.
    """

    name = "cuda.barrier_sync"
    ENTRY: ClassVar = Instruction("barrier_sync", (), "barrier.cta.sync.aligned", 70, orders=True)


@irdl_op_definition
class BarrierArriveOp(_NamedBarrierOp):
    """`cuda.barrier_arrive %id count 128`: comes to a barrier, and goes on at once."""

    name = "cuda.barrier_arrive"
    ENTRY: ClassVar = Instruction(
        "barrier_arrive", (), "barrier.cta.arrive.aligned", 70, orders=True
    )


@irdl_op_definition
class SetMaxNregOp(InstructionOp):
    """`cuda.setmaxnreg "inc" 232`: each thread takes registers; `"dec"` gives them back.

    All warps of a warp group come by. Those that give come first or at the same time. The kernel
    says how many blocks fit on a multiprocessor, so that the compiler knows what there is.
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
    """Return an instruction on one barrier."""
    full = f"mbarrier.{ptx}.shared::{scope}.b64"
    return Instruction(f"mbarrier_{name}", (MBARRIER,), full, 90, orders=True)


class _BarrierOp(InstructionOp):
    """An instruction on a barrier, with a number."""

    barrier = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    number = operand_def(i32)


@irdl_op_definition
class MbarrierInitOp(_BarrierOp):
    """`cuda.mbarrier_init %b[%i] count %n`: makes a barrier whose phases end after n arrivals.

    One thread makes it; a `cuda.fence_mbarrier_init` and a barrier of the block come before its
    first use by others.
    """

    name = "cuda.mbarrier_init"
    ENTRY: ClassVar = _mbarrier("init", "init")

    assembly_format = "$barrier `[` $indices `]` `count` $number attr-dict `:` type($barrier)"


@irdl_op_definition
class MbarrierExpectOp(_BarrierOp):
    """`cuda.mbarrier_arrive_expect_tx %b[%i] bytes %n`: arrives; the phase wants n bytes too."""

    name = "cuda.mbarrier_arrive_expect_tx"
    ENTRY: ClassVar = _mbarrier("arrive_expect_tx", "arrive.expect_tx")

    assembly_format = "$barrier `[` $indices `]` `bytes` $number attr-dict `:` type($barrier)"


@irdl_op_definition
class MbarrierWaitOp(_BarrierOp):
    """`cuda.mbarrier_wait %b[%i] parity %p`: waits for the end of the phase with this parity.

    The first phase has parity 0; of a new barrier the one before it, of parity 1, has ended.
    """

    name = "cuda.mbarrier_wait"
    ENTRY: ClassVar = _mbarrier("wait", "try_wait.parity")

    assembly_format = "$barrier `[` $indices `]` `parity` $number attr-dict `:` type($barrier)"


class _LoneBarrierOp(InstructionOp):
    """An instruction on a barrier and nothing else."""

    barrier = operand_def(MemRefType)
    indices = var_operand_def(IndexType)

    assembly_format = "$barrier `[` $indices `]` attr-dict `:` type($barrier)"


@irdl_op_definition
class MbarrierArriveOp(_LoneBarrierOp):
    """`cuda.mbarrier_arrive %b[%i]`: arrives at a barrier."""

    name = "cuda.mbarrier_arrive"
    ENTRY: ClassVar = _mbarrier("arrive", "arrive")


@irdl_op_definition
class MbarrierInvalidateOp(_LoneBarrierOp):
    """`cuda.mbarrier_invalidate %b[%i]`: ends a barrier, whose memory is free for other use then.

    One thread ends it, after all that use it.
    """

    name = "cuda.mbarrier_invalidate"
    ENTRY: ClassVar = _mbarrier("invalidate", "inval")


@irdl_op_definition
class CpAsyncBarrierArriveOp(_LoneBarrierOp):
    """`cuda.cp_async_barrier_arrive %b[%i]`: the phase waits for the thread's copies until now.

    They are those of `cuda.cp_async`, in groups or not. The arrivals of which the phase has so many
    are others: this one is expected besides.
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
    """`cuda.mbarrier_arrive_cluster %b[%i] block %r`: arrives at a barrier of another block.

    It is the one that lies in block r of the cluster where this one lies here.
    """

    name = "cuda.mbarrier_arrive_cluster"
    ENTRY: ClassVar = _mbarrier("arrive_cluster", "arrive", "cluster")

    assembly_format = "$barrier `[` $indices `]` `block` $number attr-dict `:` type($barrier)"
