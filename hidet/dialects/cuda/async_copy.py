"""Copies from global to shared memory that go on while the thread does something else."""

from __future__ import annotations

from collections.abc import Sequence
from enum import auto

from xdsl.dialects.builtin import I64, IndexType, IntegerAttr, MemRefType, i64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from hidet.arch.instructions import (
    CP_ASYNC,
    CP_ASYNC_COMMIT,
    CP_ASYNC_WAIT,
    CopyInstruction,
    Instruction,
    Operand,
)
from hidet.dialects.cuda.table_ops import (
    Element,
    GroupWaitOp,
    InstructionOp,
    PlainOp,
    element_bits,
)
from hidet.dialects.shaped import memref_type


class CopyCache(StrEnum):
    """Where an asynchronous copy caches what it reads."""

    CA = auto()
    CG = auto()


@irdl_attr_definition
class CopyCacheAttr(EnumAttribute[CopyCache], SpacedOpaqueSyntaxAttribute):
    """`ca`: at all levels; `cg`: in L2 only, for copies of 16 bytes."""

    name = "cuda.copy_cache"


@irdl_op_definition
class CpAsyncOp(InstructionOp):
    """`cuda.cp_async cg %x[%i] to %s[%j, %k] width 8`: begins to copy neighbouring elements.

    The copy is part of the group that the next `cuda.cp_async_commit` of the thread makes. Its
    target has the elements after a `cuda.cp_async_wait` for that group, for this thread; after a
    barrier as well, for the others. Both addresses are multiples of its size, of 4, 8 or 16 bytes.
    With `valid %n` only the first n elements are read, and zeros are written for the rest.
    """

    name = "cuda.cp_async"

    cache = prop_def(CopyCacheAttr)
    width = prop_def(IntegerAttr[I64])
    source = operand_def(MemRefType)
    source_indices = var_operand_def(IndexType)
    target = operand_def(MemRefType)
    target_indices = var_operand_def(IndexType)
    valid = opt_operand_def(IndexType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$cache $source `[` $source_indices `]` `to` $target `[` $target_indices `]` "
        "`width` $width (`valid` $valid^)? attr-dict `:` type($source) `to` type($target)"
    )
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(
        self,
        cache: CopyCache,
        width: int,
        source: Element,
        target: Element,
        valid: SSAValue | None = None,
    ) -> None:
        super().__init__(
            properties={"cache": CopyCacheAttr(cache), "width": IntegerAttr(width, i64)},
            operands=[source.memref, source.indices, target.memref, target.indices, valid],
        )

    @property
    def instruction(self) -> CopyInstruction:
        """The entry of the table."""
        return CP_ASYNC[str(self.cache.data.value)]

    @property
    def function(self) -> str:
        """The function, with the number of elements."""
        return f"{self.instruction.function}<{self.width.value.data}>"

    @property
    def elements(self) -> tuple[Element, ...]:
        """Where the copy goes, and where it comes from."""
        return (
            Element(self.target, self.target_indices),
            Element(self.source, self.source_indices),
        )

    @property
    def scalars(self) -> Sequence[SSAValue]:
        """How many elements are read."""
        return () if self.valid is None else (self.valid,)

    def bytes_of(self, operand: Operand) -> int:
        """Return the size of the copy."""
        return self.width.value.data * element_bits(self.source) // 8

    def verify_(self) -> None:
        """Check the operands, the element types and the size of the copy."""
        source, target = memref_type(self.source), memref_type(self.target)
        if source.element_type != target.element_type:
            raise VerifyException(f"cannot copy elements of {source} to {target}")
        size = self.width.value.data * element_bits(self.source) // 8
        if size not in self.instruction.sizes:
            sizes = " or ".join(map(str, self.instruction.sizes))
            raise VerifyException(
                f"{self.width.value.data} elements of {source.element_type} are {size} bytes; "
                f"{self.instruction.ptx} copies {sizes}"
            )
        super().verify_()


@irdl_op_definition
class CpAsyncCommitOp(PlainOp):
    """`cuda.cp_async_commit`: makes a group of the thread's copies since its last group."""

    name = "cuda.cp_async_commit"

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        return CP_ASYNC_COMMIT


@irdl_op_definition
class CpAsyncWaitOp(GroupWaitOp):
    """`cuda.cp_async_wait 1`: waits for the thread's groups of copies, but for the latest ones.

    So many groups may still be under way afterwards; 0 waits for all. Other threads see what was
    copied after a barrier only.
    """

    name = "cuda.cp_async_wait"

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        return CP_ASYNC_WAIT
