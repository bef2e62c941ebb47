"""Operators that read or write a tensor at positions given by a tensor of integers.

Positions must be in range and non-negative, which `graph.checked_positions` ensures at run time, as
`graph.checked_divisor` does for divisors.
"""

from abc import ABC
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, StringAttr, TensorType, UnitAttr, f32, f64, i32, i64
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.dialects.graph.base import (
    FALSE,
    INT,
    INTEGERS,
    TENSOR,
    GraphOp,
    SameTypeOp,
    Tensor,
    Value,
    check_axes,
    element_type,
    is_integer,
    normalized_axis,
    shape_of,
    tensor_type,
)
from hidet.dialects.graph.shape import ExpandOp, ReshapeOp


class LookupOp(GraphOp, ABC):
    """A lookup in a tensor at positions, the second operand."""

    @property
    def extent(self) -> int:
        """The number of valid positions."""
        return shape_of(self.operands[0])[0]

    def positions(self) -> Tensor:
        """Return the type of the positions; raise `VerifyException` unless they are integers."""
        found = tensor_type(self.operands[1])
        if not is_integer(found.element_type):
            raise self.invalid(f"positions must be integers, got {found}")
        return found


@irdl_op_definition
class GatherOp(LookupOp):
    """One element per position: (i, j, k) is `x[i, ids[i, j, k], k]` for axis 1."""

    name = "graph.gather"

    x = operand_def(TENSOR)
    ids = operand_def(TENSOR)
    axis = prop_def(INT)

    def __init__(self, x: Value, ids: Value, axis: int) -> None:
        super().__init__(x, ids, axis=normalized_axis(axis, len(shape_of(x))))

    @property
    def extent(self) -> int:
        """The number of valid positions along the axis."""
        return shape_of(self.x)[self.axis.value.data]

    def _infer_type(self) -> Tensor:
        ids, axis = self.positions(), self.axis.value.data
        sizes, wanted = shape_of(self.x), ids.get_shape()
        check_axes([axis], len(sizes))
        if len(sizes) != len(wanted) or any(
            wanted[i] > sizes[i] for i in range(len(sizes)) if i != axis
        ):
            raise self.invalid(
                f"positions {ids} must have the rank of {self.x.type} and fit in it "
                f"outside axis {axis}"
            )
        return TensorType(element_type(self.x), wanted)


ACCUMULATED = (f32, f64, i32, i64)
"""The element types with accumulation; others are cast before and after."""


@irdl_op_definition
class ScatterOp(LookupOp):
    """x after `x[positions[m]] = source[m]`, or `+=` to accumulate, for every m.

    x is viewed as rows [N, D], as wide as those of the source. Rows at duplicate positions are
    accumulated in any order; without `accumulate`, it is unspecified which one is kept.
    """

    name = "graph.scatter"

    x = operand_def(TENSOR)
    ids = operand_def(TENSOR)
    source = operand_def(TENSOR)
    accumulate = prop_def(BoolAttr, default_value=FALSE)

    def _infer_type(self) -> Tensor:
        x, ids, source = tensor_type(self.x), self.positions(), tensor_type(self.source)
        is_right = (
            [each.get_num_dims() for each in (ids, source)] == [1, 2]
            and source.get_shape()[:1] == ids.get_shape()
            and prod(x.get_shape()) % max(source.get_shape()[1], 1) == 0
        )
        if not is_right:
            raise self.invalid(f"needs [M], [M, D] and rows of D, got {ids}, {source} and {x}")
        self.check_same_element(x, source)
        if self.accumulate and x.element_type not in ACCUMULATED:
            raise self.invalid(f"elements of {x} are not added up, cast them first")
        return x


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
        super().__init__(x, size=size, from_end=from_end, operator=operator)

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
