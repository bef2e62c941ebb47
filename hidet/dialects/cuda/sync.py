"""Barriers of a block with a vote, and what one thread does about order and time."""

from __future__ import annotations

from enum import auto
from typing import ClassVar

from xdsl.dialects.builtin import IntegerType, StringAttr, i1, i32
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from hidet.arch.sync import BLOCK_VOTES, EFFECT_OPERANDS, EFFECTS
from hidet.dialects.cuda.instructions import BlockBarrier, Collective
from hidet.dialects.cuda.table_ops import InstructionOp
from hidet.dialects.fields import Field


class BlockVote(StrEnum):
    """What the threads of a block are asked at a barrier."""

    AND = auto()
    OR = auto()
    COUNT = auto()


@irdl_attr_definition
class BlockVoteAttr(EnumAttribute[BlockVote], SpacedOpaqueSyntaxAttribute):
    """`and`, `or` or `count`, as in CUDA's `__syncthreads_*`."""

    name = "cuda.block_vote"


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
        super().__init__(kind, predicate, _result_of(kind))

    def verify_(self) -> None:
        """Check the type of the result."""
        wanted = _result_of(self.kind.data)
        if self.result.type != wanted:
            raise VerifyException(f"'{self.kind.data.value}' gives {wanted}")


def _result_of(kind: BlockVote) -> IntegerType:
    return i32 if kind is BlockVote.COUNT else i1


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
