"""Integers that are checked before they are used, and the operators that an error names."""

from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.graph.base import INT, SameTypeOp, Tensor, Value, is_integer
from hidet.dialects.graph.lookup import LookupOp


class IntegersOp(SameTypeOp):
    """A tensor of integers, each of which is checked."""

    def infer_type(self) -> Tensor:
        """Give the type of the operand."""
        if not is_integer(self.x_type.element_type):
            raise VerifyException(f"{self.name}: needs integers, got {self.x_type}")
        return self.x_type


@irdl_op_definition
class CheckedPositionsOp(IntegersOp):
    """The positions themselves; it is an error if one is not 0 to size - 1.

    With `from_end`, a position of -size to -1 counts from the end, and what is given counts from
    the front. The size is at least 1.
    """

    name = "graph.checked_positions"

    size = prop_def(INT)
    from_end = opt_prop_def(UnitAttr)
    operator = prop_def(StringAttr)

    def __init__(self, x: Value, size: int, operator: str, *, from_end: bool = False) -> None:
        super().__init__(x, size=size, from_end=UnitAttr() if from_end else None, operator=operator)

    def infer_type(self) -> Tensor:
        """Give the type of the operand."""
        if self.size.value.data < 1:
            raise VerifyException(
                f"{self.name}: nothing has a position below {self.size.value.data}"
            )
        return super().infer_type()


@irdl_op_definition
class CheckedDivisorOp(IntegersOp):
    """The divisors themselves; it is an error if one is 0."""

    name = "graph.checked_divisor"

    operator = prop_def(StringAttr)


def check_positions(op: LookupOp) -> None:
    """Have the positions of a look-up checked ahead of it, unless they are."""
    ids = op.operands[1]
    if not isinstance(ids.owner, CheckedPositionsOp) or ids.owner.size.value.data > op.extent:
        check = CheckedPositionsOp(ids, op.extent, op.name)
        Rewriter.insert_op(check, InsertPoint.before(op))
        op.operands[1] = check.result
