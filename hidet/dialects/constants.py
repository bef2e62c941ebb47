"""Constant values."""

from functools import cache

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, IntegerType, i1
from xdsl.ir import SSAValue


@cache
def integer(value: int, kind: IntegerType | IndexType) -> IntegerAttr:
    """Return the attribute of an integer; the same ones are needed again and again."""
    return IntegerAttr(value, kind)


def known_index(value: SSAValue) -> int | None:
    """Return the value of an integer constant, of an i1 as 0 or -1; None if it is not constant.

    MLIR's integers of one bit are signed, so that `true` is -1.
    """
    op = value.owner
    if type(op) is ConstantOp and isinstance(number := op.properties["value"], IntegerAttr):
        return number.value.data
    return None


def is_zero(value: SSAValue) -> bool:
    """Return whether a value is the constant 0 or 0.0, not -0.0."""
    op = value.owner
    number = op.value if isinstance(op, ConstantOp) else None
    return isinstance(number, FloatAttr | IntegerAttr) and str(number.value.data) in ("0", "0.0")


def known_condition(value: SSAValue) -> bool | None:
    """Return the value of an i1 constant, None if it is not constant."""
    number = known_index(value) if value.type == i1 else None
    return None if number is None else number != 0
