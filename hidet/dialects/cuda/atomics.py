"""Atomic read-modify-write operations."""

from typing import ClassVar

from xdsl.dialects.builtin import (
    AnyFloatConstr,
    BFloat16Type,
    Float16Type,
    IndexType,
    IntegerType,
    MemRefType,
)
from xdsl.irdl import (
    AttrSizedOperandSegments,
    BaseAttr,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from hidet.arch.instructions import Access, Instruction, Operand
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.memory_access import AccessScopeAttr
from hidet.dialects.cuda.table_ops import InstructionOp
from hidet.dialects.effects import ANY_MEMORY, AccessingOp, Effects, OwnEffects, read, write
from hidet.dialects.enums import enum_attribute

ATOMIC_PAIRS: dict[str, Instruction] = {
    space: Instruction(
        "atomic_add_pair",
        (Operand("a", space, Access.UPDATE, bytes=4),),
        ptx=f"red.{space}.add.noftz.f16x2, .bf16x2",
        arch=70,
    )
    for space in ("shared", "global")
}
"""Packed additions to two 16-bit elements, by memory space."""

AtomicKind = StrEnum("AtomicKind", "ADD MAX MIN UMAX UMIN AND OR XOR EXCHANGE CAS")
"""The update of an atomic; integers are signed, except for `umax` and `umin`."""

AtomicKindAttr = enum_attribute("cuda.atomic_kind", AtomicKind)


@irdl_op_definition
class AtomicOp(AccessingOp):
    """`cuda.atomic add %v, %x[%i]`: an atomic update of an element; returns its old value.

    `cuda.atomic cas %v if %old, %x[%i]` stores `%v` if the element is `%old`. It is atomic for the
    threads of the GPU, or of another `scope`, and relaxed: it orders no other accesses (PTX ISA,
    `atom.relaxed`).
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
        """The element is read and written; as synchronization, so is any memory."""
        return ANY_MEMORY | {read(self.memref), write(self.memref)}

    def verify_(self) -> None:
        """Check the rank, and that only `cas` compares."""
        self.verify_ranks()
        if (self.kind.data is AtomicKind.CAS) != (self.expected is not None):
            raise VerifyException("'cas' has a value to compare with, after 'if', and no other has")


@irdl_op_definition
class AtomicPairOp(InstructionOp):
    """`cuda.atomic_pair %a, %b, %x[%i]`: adds to two adjacent f16 or bf16 elements.

    Each of them is updated atomically; their address is aligned to 4 bytes.
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
        """The table entry."""
        return ATOMIC_PAIRS["shared" if space_of(self.memref.type) is Space.SHARED else "global"]

    @property
    def function(self) -> str:
        """The function, with the scope."""
        return f"{self.instruction.function}{scope_argument(self)}"


def scope_argument(op: AtomicOp | AtomicPairOp) -> str:
    """Return the template argument of the function, if the scope is not the GPU."""
    return "" if op.scope is None else f"<hidet::Scope::{op.scope.data.value}>"
