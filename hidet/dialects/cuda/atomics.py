"""Atomic updates of memory, votes of a warp, text that a kernel prints, and assertions."""

from __future__ import annotations

from collections.abc import Sequence
from enum import auto
from typing import ClassVar

from xdsl.dialects.builtin import (
    AnyFloatConstr,
    BFloat16Type,
    Float16Type,
    IndexType,
    IntegerType,
    MemRefType,
    StringAttr,
    i1,
    i32,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    BaseAttr,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from hidet.arch.accesses import ATOMIC_PAIRS
from hidet.arch.instructions import Instruction
from hidet.dialects.cuda.accesses import AccessScopeAttr
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.instructions import Collective
from hidet.dialects.cuda.table_ops import InstructionOp
from hidet.dialects.effects import (
    ANY_MEMORY,
    AccessingOp,
    Effects,
    MachineEffect,
    OwnEffects,
    read,
    write,
)
from hidet.dialects.fields import Field, FieldsOp
from hidet.dialects.shaped import memref_type
from hidet.escape import from_ascii, to_ascii


class AtomicKind(StrEnum):
    """How an atomic operation updates an element."""

    ADD = auto()
    MAX = auto()
    MIN = auto()
    UMAX = auto()
    UMIN = auto()
    AND = auto()
    OR = auto()
    XOR = auto()
    EXCHANGE = auto()
    CAS = auto()


@irdl_attr_definition
class AtomicKindAttr(EnumAttribute[AtomicKind], SpacedOpaqueSyntaxAttribute):
    """`add`, `max`, `and`, `exchange`, ..., or `cas` (compare and swap).

    Integers are signed, but for `umax` and `umin`.
    """

    name = "cuda.atomic_kind"


@irdl_op_definition
class AtomicOp(AccessingOp):
    """`cuda.atomic add %v, %x[%i]`: updates an element as one step; gives its old value.

    `cuda.atomic cas %v if %old, %x[%i]` stores `%v` where the element is `%old`. It is one step for
    the threads of the GPU, or of another `scope`. All are relaxed: they order no other access (PTX
    ISA, `atom.relaxed`); fences around them do.
    """

    name = "cuda.atomic"

    T: ClassVar = VarConstraint("T", BaseAttr(IntegerType) | AnyFloatConstr)

    kind = prop_def(AtomicKindAttr)
    value = operand_def(T)
    expected = opt_operand_def(T)
    memref = operand_def(MemRefType.constr(T))
    indices = var_operand_def(IndexType)
    scope = opt_prop_def(AccessScopeAttr)
    result = result_def(T)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$kind $value (`if` $expected^)? `,` $memref `[` $indices `]` (`scope` $scope^)? "
        "attr-dict `:` type($memref)"
    )
    traits = traits_def(OwnEffects())

    @property
    def effects(self) -> Effects:
        """Reads and writes of the element, which others watch to know what else they may access."""
        return ANY_MEMORY | {read(self.memref), write(self.memref)}

    def verify_(self) -> None:
        """Check the rank, and that `cas` compares."""
        kind = memref_type(self.memref)
        if len(self.indices) != kind.get_num_dims():
            raise VerifyException(f"{len(self.indices)} indices for {kind}")
        if (self.kind.data is AtomicKind.CAS) != (self.expected is not None):
            raise VerifyException("'cas' has a value to compare with, after 'if', and no other has")


@irdl_op_definition
class AtomicPairOp(InstructionOp):
    """`cuda.atomic_pair %a, %b, %x[%i]`: adds to two neighbouring elements of f16 or bf16.

    Each of them is updated as one step; their address is a multiple of 4 bytes.
    """

    name = "cuda.atomic_pair"

    T: ClassVar = VarConstraint("T", BaseAttr(Float16Type) | BaseAttr(BFloat16Type))

    first = operand_def(T)
    second = operand_def(T)
    memref = operand_def(MemRefType.constr(T))
    indices = var_operand_def(IndexType)
    scope = opt_prop_def(AccessScopeAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$first `,` $second `,` $memref `[` $indices `]` (`scope` $scope^)? attr-dict "
        "`:` type($memref)"
    )

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        return ATOMIC_PAIRS["shared" if space_of(self.memref.type) is Space.SHARED else "global"]

    @property
    def function(self) -> str:
        """The function, with the scope."""
        return f"{self.instruction.function}{scope_argument(self)}"


def scope_argument(op: AtomicOp | AtomicPairOp) -> str:
    """Return the argument of the function's template, where the scope is not the GPU."""
    return "" if op.scope is None else f"<hidet::Scope::{op.scope.data.value}>"


class VoteKind(StrEnum):
    """What the lanes of a warp are asked."""

    ANY = auto()
    ALL = auto()
    BALLOT = auto()


@irdl_attr_definition
class VoteKindAttr(EnumAttribute[VoteKind], SpacedOpaqueSyntaxAttribute):
    """`any`, `all` or `ballot`, as in CUDA's `__*_sync`."""

    name = "cuda.vote_kind"


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
        wanted = _result_of_vote(self.kind.data)
        if self.result.type != wanted:
            raise VerifyException(f"'{self.kind.data.value}' gives {wanted}")


def _result_of_vote(kind: VoteKind) -> Attribute:
    return IntegerType(32) if kind is VoteKind.BALLOT else i1


@irdl_op_definition
class PrintfOp(FieldsOp):
    """`cuda.printf "i = %d" (%i : i32)`: prints to the standard output, as C's `printf`.

    The format fits the types: `%d` an i32, `%lld` an i64, `%f` a float (CUDA C++ Programming
    Guide, formatted output).
    """

    name = "cuda.printf"

    format = prop_def(StringAttr)
    values = var_operand_def(BaseAttr(IntegerType) | AnyFloatConstr)

    assembly_format = "$format (`(` $values^ `:` type($values) `)`)? attr-dict"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, format: str, values: Sequence[SSAValue]) -> None:
        super().__init__(to_ascii(format), values)

    @property
    def text(self) -> str:
        """The format, as the user wrote it."""
        return from_ascii(self.format.data)


@irdl_op_definition
class AssertOp(FieldsOp):
    """`cuda.assert %ok, "kernel.py:3: n > 0"`: ends the kernel with a message unless `%ok` holds.

    On a GPU the thread prints the message and traps (PTX ISA, `trap`), which makes the launch fail;
    on the CPU the launch returns an error.
    """

    name = "cuda.assert"

    condition = operand_def(i1)
    message = prop_def(StringAttr)

    assembly_format = "$condition `,` $message attr-dict"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, condition: Field, message: str) -> None:
        super().__init__(condition, to_ascii(message))

    @property
    def text(self) -> str:
        """The message, as the user wrote it."""
        return from_ascii(self.message.data)
