"""Run-time checks of integers: positions of lookups, and divisors."""

from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.dialects.graph.base import INT, INTEGERS, SameTypeOp, Tensor, Value
from hidet.dialects.graph.lookup import LookupOp
from hidet.dialects.graph.shape import ExpandOp, ReshapeOp


class IntegersOp(SameTypeOp):
    """A check of each element of a tensor of integers."""

    ELEMENTS: ClassVar = INTEGERS


@irdl_op_definition
class CheckedPositionsOp(IntegersOp):
    """The operand; it is an error if an element is not in [0, size).

    With `from_end`, elements in [-size, 0) are positions from the end, and are normalized. The size
    is at least 1.
    """

    name = "graph.checked_positions"

    size = prop_def(INT)
    from_end = opt_prop_def(UnitAttr)
    operator = prop_def(StringAttr)

    def __init__(self, x: Value, size: int, operator: str, *, from_end: bool = False) -> None:
        super().__init__(x, size=size, from_end=UnitAttr() if from_end else None, operator=operator)

    def _infer_type(self) -> Tensor:
        if self.size.value.data < 1:
            raise self.invalid(f"nothing has a position below {self.size.value.data}")
        return super()._infer_type()


@irdl_op_definition
class CheckedDivisorOp(IntegersOp):
    """The operand; it is an error if an element is 0."""

    name = "graph.checked_divisor"

    operator = prop_def(StringAttr)


def check_positions(op: LookupOp) -> None:
    """Insert a check of the positions of a lookup, unless they are checked already."""
    ids = op.operands[1]
    owner = ids.owner
    while isinstance(owner, ReshapeOp | ExpandOp):
        owner = owner.x.owner
    if not isinstance(owner, CheckedPositionsOp) or owner.size.value.data > op.extent:
        check = CheckedPositionsOp(ids, op.extent, op.name)
        Rewriter.insert_op(check, InsertPoint.before(op))
        op.operands[1] = check.result
