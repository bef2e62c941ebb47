"""Checks of a kernel: of memory accesses in strict mode, of indices and divisors always.

A checked value can do no harm in any case. Where it is not the value that was given, whoever
launched the kernel is told: on the CPU the launch returns an error, on a GPU the thread prints the
same words and traps (PTX ISA, `trap`). Telling is an effect, so that a check stays where its value
is not needed; it touches no memory.
"""

from typing import ClassVar

from xdsl.dialects.builtin import (
    I64,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    UnitAttr,
    i1,
    i64,
)
from xdsl.ir import SSAValue
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
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.effects import MachineEffect
from hidet.dialects.enums import enum_attribute
from hidet.dialects.fields import FieldsOp
from hidet.dialects.shaped import memref_type


@irdl_op_definition
class TrackOp(FieldsOp):
    """`cuda.track %sa "sa"`: from here on, nothing of a shared or local array has been written.

    The array is known by the name in messages. Of a shared one the first thread to come counts.
    """

    name = "cuda.track"

    array = operand_def(MemRefType)
    label = prop_def(StringAttr)

    assembly_format = "$array $label attr-dict `:` type($array)"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def verify_(self) -> None:
        """Check the memory space."""
        _verify_own(self.array)


@irdl_op_definition
class CheckBoundsOp(FieldsOp):
    """`cuda.check_bounds "x"[%i, %j] in [16, 128] width 4`: the indices are within the extents.

    The access is to `width` neighbours along the last dimension, with `valid %n` to at most n of
    them. An extent of -1 is that of the memory behind the pointer `of %x`, which the launch knows.
    A call that fails the check is an error.
    """

    name = "cuda.check_bounds"

    label = prop_def(StringAttr)
    indices = var_operand_def(IndexType)
    extents = prop_def(DenseArrayBase.constr(i64))
    width = prop_def(IntegerAttr[I64])
    valid = opt_operand_def(IndexType)
    memory = opt_operand_def(MemRefType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$label `[` $indices `]` `in` $extents `width` $width (`valid` $valid^)? "
        "(`of` $memory^ `:` type($memory))? attr-dict"
    )
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def verify_(self) -> None:
        """Check the number of extents, and that each is known by the launch if not here."""
        extents = self.extents.get_values()
        if len(extents) != len(self.indices):
            raise VerifyException(f"{len(self.indices)} indices for {len(extents)} extents")
        if any(extent < 0 for extent in extents) and self.memory is None:
            raise VerifyException("an extent of -1 is that of some memory, 'of %x'")


AccessKind = StrEnum("AccessKind", "READ WRITE ATOMIC")
"""What an access does; an atomic one both, as one step."""

AccessKindAttr = enum_attribute("cuda.access", AccessKind)


@irdl_op_definition
class CheckAccessOp(FieldsOp):
    """`cuda.check_access read %sa[%i] width 4`: neighbours in an array may be accessed now.

    What is read was written; no asynchronous copy or product is at work on it; and other threads
    access it before a barrier or after one, or all of them only read, or all are atomic. A call
    that fails the check is an error. The access itself follows.
    """

    name = "cuda.check_access"

    kind = prop_def(AccessKindAttr)
    array = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    width = prop_def(IntegerAttr[I64])

    assembly_format = "$kind $array `[` $indices `]` `width` $width attr-dict `:` type($array)"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def verify_(self) -> None:
        """Check the memory space and the rank."""
        _verify_own(self.array)
        kind = memref_type(self.array)
        if len(self.indices) != kind.get_num_dims():
            raise VerifyException(f"{len(self.indices)} indices for {kind}")


@irdl_op_definition
class CheckOwnerOp(FieldsOp):
    """`cuda.check_owner "acc" %condition`: the thread holds the element that it accesses.

    A register tile is spread over threads; an access by another one would reach another element.
    A call that fails the check is an error.
    """

    name = "cuda.check_owner"

    label = prop_def(StringAttr)
    is_owner = operand_def(i1)

    assembly_format = "$label $is_owner attr-dict"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())


def _verify_own(array: SSAValue) -> None:
    """Check that an array is the kernel's own."""
    if space_of(array.type) not in (Space.SHARED, Space.LOCAL):
        raise VerifyException(f"only shared and local arrays are tracked, not {array.type}")


class FaultCheckOp(FieldsOp):
    """Gives its operand, or a harmless value and an error. Doing so twice is doing so once."""

    traits = traits_def(MachineEffect())


@irdl_op_definition
class CheckedIndexOp(FaultCheckOp):
    """`cuda.checked_index %i below 5 "aten.gather (model.py:4)"`: %i if it is 0 to 4, else 0.

    With `from_end`, an index of -5 to -1 counts from the end: -1 gives 4. The text is the operator
    and the line that an error names.
    """

    name = "cuda.checked_index"

    index = operand_def(IndexType)
    size = prop_def(IntegerAttr[I64])
    where = prop_def(StringAttr)
    from_end = opt_prop_def(UnitAttr)
    result = result_def(IndexType)

    assembly_format = "$index (`from_end` $from_end^)? `below` $size $where attr-dict"

    def verify_(self) -> None:
        """Check that there is an index that is in bounds."""
        if self.size.value.data < 1:
            raise VerifyException(f"no index is below {self.size.value.data}")


@irdl_op_definition
class CheckedDivisorOp(FaultCheckOp):
    """`cuda.checked_divisor %d "aten.remainder (model.py:4)" : i64`: %d unless it is 0, else 1.

    The text is the operator and the line that an error names.
    """

    name = "cuda.checked_divisor"

    T: ClassVar = VarConstraint("T", BaseAttr(IntegerType))

    divisor = operand_def(T)
    where = prop_def(StringAttr)
    result = result_def(T)

    assembly_format = "$divisor $where attr-dict `:` type($result)"
