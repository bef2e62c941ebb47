"""Accesses to global memory that say more than which element: cache hints, and order."""

from __future__ import annotations

from collections.abc import Sequence
from enum import auto
from typing import ClassVar

from xdsl.dialects.builtin import (
    I64,
    AnyFloatConstr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    i64,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Operation, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    BaseAttr,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from hidet.arch.accesses import LOADS, ORDERED_LOADS, ORDERED_STORES, STORES
from hidet.arch.instructions import Instruction, Operand
from hidet.arch.limits import ACCESS_BYTES
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.table_ops import Element, InstructionOp, element_bits
from hidet.dialects.shaped import element_of, memref_type

VECTOR_BYTES = tuple(1 << power for power in range(ACCESS_BYTES.bit_length()))
"""The sizes of one access of a thread."""


class CacheHint(StrEnum):
    """What an access says to the caches."""

    CA = auto()
    CG = auto()
    CS = auto()
    LU = auto()
    CV = auto()
    NC = auto()
    WB = auto()
    WT = auto()


@irdl_attr_definition
class CacheHintAttr(EnumAttribute[CacheHint], SpacedOpaqueSyntaxAttribute):
    """`ca`, `cg`, `cs`, `lu`, `cv` and `nc` of loads, `wb`, `cg`, `cs` and `wt` of stores."""

    name = "cuda.cache_hint"


@irdl_op_definition
class HintedCopyOp(InstructionOp):
    """`cuda.hinted_copy cs %x[%i] to %v[%j] width 4`: one access of neighbours, with a cache hint.

    One side is in global memory, the other one in registers, and says by that whether it is a load
    or a store. Both addresses are multiples of the whole, of 1, 2, 4, 8 or 16 bytes.
    """

    name = "cuda.hinted_copy"

    hint = prop_def(CacheHintAttr)
    width = prop_def(IntegerAttr[I64])
    source = operand_def(MemRefType)
    source_indices = var_operand_def(IndexType)
    target = operand_def(MemRefType)
    target_indices = var_operand_def(IndexType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$hint $source `[` $source_indices `]` `to` $target `[` $target_indices `]` "
        "`width` $width attr-dict `:` type($source) `to` type($target)"
    )
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, hint: CacheHint, width: int, source: Element, target: Element) -> None:
        super().__init__(
            properties={"hint": CacheHintAttr(hint), "width": IntegerAttr(width, i64)},
            operands=[source.memref, source.indices, target.memref, target.indices],
        )

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        is_load = space_of(self.source.type) is Space.GLOBAL
        table, hint = LOADS if is_load else STORES, str(self.hint.data.value)
        if hint not in table:
            raise VerifyException(
                f"a {'load' if is_load else 'store'} has no hint '{hint}', only {', '.join(table)}"
            )
        return table[hint]

    @property
    def function(self) -> str:
        """The function, with the number of elements."""
        return f"{self.instruction.function}<{self.width.value.data}>"

    @property
    def elements(self) -> tuple[Element, ...]:
        """Where the elements go, and where they come from."""
        return (
            Element(self.target, self.target_indices),
            Element(self.source, self.source_indices),
        )

    def bytes_of(self, operand: Operand) -> int:
        """Return the size of the access."""
        return self.width.value.data * element_bits(self.source) // 8

    def verify_(self) -> None:
        """Check the operands, the element types and the size."""
        source, target = memref_type(self.source), memref_type(self.target)
        if source.element_type != target.element_type:
            raise VerifyException(f"cannot copy elements of {source} to {target}")
        size = self.width.value.data * element_bits(self.source) // 8
        if size not in VECTOR_BYTES:
            raise VerifyException(f"one access has 1, 2, 4, 8 or 16 bytes, not {size}")
        super().verify_()


class AccessOrder(StrEnum):
    """How an access is in order with those around it (PTX ISA, Memory Consistency Model)."""

    ACQUIRE = auto()
    RELEASE = auto()
    RELAXED = auto()


@irdl_attr_definition
class AccessOrderAttr(EnumAttribute[AccessOrder], SpacedOpaqueSyntaxAttribute):
    """`acquire`, `release` or `relaxed`."""

    name = "cuda.access_order"


class AccessScope(StrEnum):
    """With whom an access is in order: the block, the GPU, all of the machine."""

    CTA = auto()
    GPU = auto()
    SYS = auto()


@irdl_attr_definition
class AccessScopeAttr(EnumAttribute[AccessScope], SpacedOpaqueSyntaxAttribute):
    """`cta`, `gpu` or `sys`."""

    name = "cuda.access_scope"


class _OrderedOp(InstructionOp):
    """An access to one element that is in order with others."""

    order = prop_def(AccessOrderAttr)
    scope = prop_def(AccessScopeAttr)

    @property
    def key(self) -> tuple[str, str]:
        """Order and scope, as the table has them."""
        return str(self.order.data.value), str(self.scope.data.value)

    def entry(self, table: dict[tuple[str, str], Instruction], what: str) -> Instruction:
        """Return the entry of a table; raises VerifyException where there is none."""
        if self.key not in table:
            raise VerifyException(f"there is no {self.key[0]} {what}")
        return table[self.key]

    def verify_(self) -> None:
        """Check the operand and its size."""
        super().verify_()
        (element,) = self.elements
        if element_bits(element.memref) not in (32, 64):
            raise VerifyException(
                f"an ordered access has 4 or 8 bytes, not {element_of(element.memref)}"
            )


@irdl_op_definition
class OrderedLoadOp(_OrderedOp):
    """`cuda.ordered_load acquire gpu %x[%i]`: what comes after it stays after it."""

    name = "cuda.ordered_load"

    T: ClassVar = VarConstraint("T", BaseAttr(IntegerType) | AnyFloatConstr)

    source = operand_def(MemRefType.constr(T))
    indices = var_operand_def(IndexType)
    result = result_def(T)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = "$order $scope $source `[` $indices `]` attr-dict `:` type($source)"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, order: AccessOrder, scope: AccessScope, source: Element) -> None:
        super().__init__(
            properties={"order": AccessOrderAttr(order), "scope": AccessScopeAttr(scope)},
            operands=[source.memref, source.indices],
            result_types=[element_of(source.memref)],
        )

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        return self.entry(ORDERED_LOADS, "load")

    @property
    def elements(self) -> tuple[Element, ...]:
        """What is loaded."""
        return (Element(self.source, self.indices),)


@irdl_op_definition
class OrderedStoreOp(_OrderedOp):
    """`cuda.ordered_store release gpu %v, %x[%i]`: what comes before it stays before it."""

    name = "cuda.ordered_store"

    T: ClassVar = VarConstraint("T", BaseAttr(IntegerType) | AnyFloatConstr)

    value = operand_def(T)
    target = operand_def(MemRefType.constr(T))
    indices = var_operand_def(IndexType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$order $scope $value `,` $target `[` $indices `]` attr-dict `:` type($target)"
    )
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(
        self,
        order: AccessOrder,
        scope: AccessScope,
        value: SSAValue | Operation,
        target: Element,
    ) -> None:
        super().__init__(
            properties={"order": AccessOrderAttr(order), "scope": AccessScopeAttr(scope)},
            operands=[value, target.memref, target.indices],
        )

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        return self.entry(ORDERED_STORES, "store")

    @property
    def elements(self) -> tuple[Element, ...]:
        """What is stored to."""
        return (Element(self.target, self.indices),)

    @property
    def scalars(self) -> Sequence[SSAValue]:
        """What is stored."""
        return (self.value,)
