"""Values that a kernel checks before it uses them: indices of look-ups, divisors of integers.

An op gives a value that can do no harm in any case, and tells whoever launched the kernel where it
is not the value that it was given: on the CPU the launch returns an error, on a GPU the thread
prints the same words and traps (PTX ISA, `trap`).

Telling is an effect, so that a check stays where its value is not needed; it touches no memory.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import (
    I64,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
)
from xdsl.irdl import (
    BaseAttr,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.effects import MachineEffect
from hidet.dialects.fields import FieldsOp


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
