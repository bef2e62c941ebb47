"""Values that are known numbers."""

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import SSAValue


def known_index(value: SSAValue) -> int | None:
    """Return the integer that a value is, a truth value as 0 or -1; None where it is no constant.

    MLIR's integers of one bit are signed, so that `true` is -1.
    """
    op = value.owner
    if isinstance(op, ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    return None


def known_condition(value: SSAValue) -> bool | None:
    """Return the truth value that a value of type i1 is, None where it is no constant."""
    number = known_index(value) if value.type == i1 else None
    return None if number is None else number != 0
