"""Operators that read a tensor at positions given by a tensor of integers.

Positions must be in range and non-negative, which `graph.checked_positions` ensures.
"""

from abc import ABC

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.graph.base import (
    INT,
    TENSOR,
    GraphOp,
    Tensor,
    Value,
    check_axes,
    element_type,
    is_integer,
    normalized_axis,
    shape_of,
    tensor_type,
)


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
            raise VerifyException(f"{self.name}: positions must be integers, got {found}")
        return found


@irdl_op_definition
class EmbeddingOp(LookupOp):
    """Rows of a table [V, D] at the positions [...]: element (..., d) is `table[ids[...], d]`."""

    name = "graph.embedding"

    table = operand_def(TENSOR)
    ids = operand_def(TENSOR)

    def _infer_type(self) -> Tensor:
        table, ids = tensor_type(self.table), self.positions()
        if table.get_num_dims() != 2:
            raise VerifyException(f"{self.name}: the table must have rank 2, got {table}")
        return TensorType(table.element_type, [*ids.get_shape(), table.get_shape()[1]])


class AxisLookupOp(LookupOp, ABC):
    """A lookup along an axis."""

    x = operand_def(TENSOR)
    ids = operand_def(TENSOR)
    axis = prop_def(INT)

    def __init__(self, x: Value, ids: Value, axis: int) -> None:
        super().__init__(x, ids, axis=normalized_axis(axis, len(shape_of(x))))

    @property
    def extent(self) -> int:
        """The number of valid positions along the axis."""
        return shape_of(self.x)[self.axis.value.data]

    def checked_axis(self) -> int:
        """Return the axis; raise `VerifyException` if it is out of range."""
        axis = self.axis.value.data
        check_axes([axis], len(shape_of(self.x)))
        return axis


@irdl_op_definition
class IndexSelectOp(AxisLookupOp):
    """Slices along an axis at positions of rank 1: `x[..., ids[i], ...]`."""

    name = "graph.index_select"

    def _infer_type(self) -> Tensor:
        ids, axis = self.positions(), self.checked_axis()
        if ids.get_num_dims() != 1:
            raise VerifyException(f"{self.name}: positions must have rank 1, got {ids}")
        sizes = list(shape_of(self.x))
        sizes[axis] = ids.get_shape()[0]
        return TensorType(element_type(self.x), sizes)


@irdl_op_definition
class GatherOp(AxisLookupOp):
    """One element per position: (i, j, k) is `x[i, ids[i, j, k], k]` for axis 1."""

    name = "graph.gather"

    def _infer_type(self) -> Tensor:
        ids, axis = self.positions(), self.checked_axis()
        sizes, wanted = shape_of(self.x), ids.get_shape()
        if len(sizes) != len(wanted) or any(
            wanted[i] > sizes[i] for i in range(len(sizes)) if i != axis
        ):
            raise VerifyException(
                f"{self.name}: positions {ids} must have the rank of {self.x.type} and fit in it "
                f"outside axis {axis}"
            )
        return TensorType(element_type(self.x), wanted)
