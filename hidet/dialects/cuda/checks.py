"""Run-time checks: memory accesses in strict mode; indices and divisors in all modes.

A checked value is always safe to use. If the original one is not, an error is reported: on the CPU
the launch returns it, on a GPU the thread prints it and traps (PTX ISA, `trap`). Reporting is a
side effect, so that checks with unused results stay; it accesses no memory.
"""

from typing import ClassVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerType,
    MemRefType,
    StringAttr,
    UnitAttr,
    i1,
    i64,
)
from xdsl.ir import SSAValue
from xdsl.irdl import (
    BaseAttr,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.effects import AnyMemoryOp, MachineOp
from hidet.dialects.fields import INT64, SEGMENTED, element_def, enum_attribute, one_of


@irdl_op_definition
class TrackOp(AnyMemoryOp):
    """`cuda.track %sa "sa"`: a shared or local array is uninitialized from here on.

    The label is its name in messages. For a shared array, the first thread to arrive resets it.
    """

    name = "cuda.track"

    array = operand_def(MemRefType)
    label = prop_def(StringAttr)

    assembly_format = "$array $label attr-dict `:` type($array)"

    def verify_(self) -> None:
        """Check the memory space."""
        _verify_own(self.array)


@irdl_op_definition
class CheckBoundsOp(AnyMemoryOp):
    """`cuda.check_bounds "x"[%i, %j] in [16, 128] width 4`: the indices are within the extents.

    The access is to `width` contiguous elements, or with `valid %n` to at most n of them. An extent
    of minus one is that of the memory behind `of %x`, which the launch knows. A failure is an
    error.
    """

    name = "cuda.check_bounds"

    label = prop_def(StringAttr)
    indices = var_operand_def(IndexType)
    extents = prop_def(DenseArrayBase.constr(i64))
    width = prop_def(INT64)
    valid = opt_operand_def(IndexType)
    memory = opt_operand_def(MemRefType)

    irdl_options = SEGMENTED
    assembly_format = (
        "$label `[` $indices `]` `in` $extents `width` $width (`valid` $valid^)? "
        "(`of` $memory^ `:` type($memory))? attr-dict"
    )

    def verify_(self) -> None:
        """Check the number of extents, and that unknown ones have a memory."""
        extents = self.extents.get_values()
        if len(extents) != len(self.indices):
            raise VerifyException(f"{len(self.indices)} indices for {len(extents)} extents")
        if any(extent < 0 for extent in extents) and self.memory is None:
            raise VerifyException("an extent of -1 is that of some memory, 'of %x'")


AccessKind = StrEnum("AccessKind", "READ WRITE ATOMIC")


@irdl_op_definition
class CheckAccessOp(AnyMemoryOp):
    """`cuda.check_access read %sa[%i] width 4`: an access to an array is legal at this point.

    Reads are of initialized elements; no asynchronous copy or matmul on them is pending; accesses
    of other threads are ordered by a barrier, are reads as well, or all are atomic. A failure is an
    error. The access follows.
    """

    name = "cuda.check_access"

    kind = prop_def(enum_attribute("cuda.access", AccessKind))
    array, indices = element_def()
    width = prop_def(INT64)

    assembly_format = "$kind $array `[` $indices `]` `width` $width attr-dict `:` type($array)"

    def verify_(self) -> None:
        """Check the memory space and the rank."""
        super().verify_()
        _verify_own(self.array)


@irdl_op_definition
class CheckOwnerOp(AnyMemoryOp):
    """`cuda.check_owner "acc" %condition`: the thread owns the accessed register tile element.

    Otherwise it would access another element. A failure is an error.
    """

    name = "cuda.check_owner"

    label = prop_def(StringAttr)
    is_owner = operand_def(i1)

    assembly_format = "$label $is_owner attr-dict"


def _verify_own(array: SSAValue) -> None:
    if space_of(array.type) not in (Space.SHARED, Space.LOCAL):
        raise VerifyException(f"only shared and local arrays are tracked, not {array.type}")


class FaultCheckOp(MachineOp):
    """Returns its operand, or a safe value and an error. It is idempotent."""


@irdl_op_definition
class CheckedIndexOp(FaultCheckOp):
    """`cuda.checked_index %i below 5 "aten.gather (model.py:4)"`: %i if it is 0 to 4, else 0.

    With `from_end`, an index of -5 to -1 counts from the end: -1 becomes 4. The text is the
    operator and the line in the error. With `ahead`, the launch checks all elements of the tensor
    that the index is loaded from before it runs the kernel.
    """

    name = "cuda.checked_index"

    index = operand_def(IndexType)
    size = prop_def(one_of(range(1, 1 << 63), "no index is below {}"))
    where = prop_def(StringAttr)
    from_end = opt_prop_def(UnitAttr)
    ahead = opt_prop_def(UnitAttr)
    result = result_def(IndexType)

    assembly_format = (
        "$index (`from_end` $from_end^)? (`ahead` $ahead^)? `below` $size $where attr-dict"
    )

    def verify_(self) -> None:
        """Check that only one of two flags is set."""
        if self.ahead and self.from_end:
            raise VerifyException("indices from the end are not checked ahead of the kernel")


@irdl_op_definition
class CheckedDivisorOp(FaultCheckOp):
    """`cuda.checked_divisor %d "aten.remainder (model.py:4)" : i64`: %d unless it is 0, else 1.

    The text is the operator and the line in the error.
    """

    name = "cuda.checked_divisor"

    T: ClassVar = VarConstraint("T", BaseAttr(IntegerType))

    divisor = operand_def(T)
    where = prop_def(StringAttr)
    result = result_def(T)

    assembly_format = "$divisor $where attr-dict `:` type($result)"
