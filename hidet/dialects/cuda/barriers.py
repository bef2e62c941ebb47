"""Synchronization ops: votes, fences, barriers of a block, and mbarriers.

Also ops of warp specialization: register reallocation.
"""

from typing import ClassVar

from xdsl.dialects.builtin import I64, IntegerAttr, IntegerType, StringAttr, i1, i32
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

from hidet.arch.hopper import REGISTER_COUNTS, SETMAXNREG
from hidet.arch.instructions import Instruction
from hidet.dialects.cuda.instructions import BlockBarrier, Collective, WarpCollective
from hidet.dialects.cuda.table_ops import InstructionOp
from hidet.dialects.effects import MachineEffect
from hidet.dialects.fields import Field, FieldsOp, enum_attribute

BLOCK_VOTES: dict[str, Instruction] = {
    kind: Instruction(f"sync_threads_{kind}", (), f"barrier.cta.red.{ptx}.aligned", 50, orders=True)
    for kind, ptx in (("and", "and.pred"), ("or", "or.pred"), ("count", "popc.u32"))
}
"""Block barriers with a reduction, by kind."""

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
