"""Operators that read a tensor at positions given by another tensor of integers.

A position must be in range and not negative, for which `graph.checked_positions` cares.
"""

from abc import ABC, abstractmethod

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
    integer,
    is_integer,
    normalized_axis,
    tensor_type,
)


def check_positions(name: str, ids: Tensor) -> None:
    """Raise `VerifyException` unless the positions are integers."""
    if not is_integer(ids.element_type):
        raise VerifyException(f"{name}: positions must be integers, got {ids}")


def embedded(table: Tensor, ids: Tensor) -> Tensor:
    """Give the type of one row of a table [V, D] for each position: [..., D]."""
    check_positions("graph.embedding", ids)
    if table.get_num_dims() != 2:
        raise VerifyException(f"graph.embedding: the table must have rank 2, got {table}")
    return TensorType(table.element_type, [*ids.get_shape(), table.get_shape()[1]])


@irdl_op_definition
class EmbeddingOp(GraphOp):
    """Rows of a table [V, D] at the positions [...]: element (..., d) is `table[ids[...], d]`."""

    name = "graph.embedding"

    table = operand_def(TENSOR)
    ids = operand_def(TENSOR)

    def __init__(self, table: Value, ids: Value) -> None:
        super().__init__(
            operands=[table, ids], result_types=[embedded(tensor_type(table), tensor_type(ids))]
        )

    def infer_type(self) -> Tensor:
        """Give the type of the rows."""
        return embedded(tensor_type(self.table), tensor_type(self.ids))


class AxisLookupOp(GraphOp, ABC):
    """What x holds along an axis, at positions of integers."""

    x = operand_def(TENSOR)
    ids = operand_def(TENSOR)
    axis = prop_def(INT)

    def __init__(self, x: Value, ids: Value, axis: int) -> None:
        found = tensor_type(x)
        axis = normalized_axis(axis, found.get_num_dims())
        super().__init__(
            operands=[x, ids],
            properties={"axis": integer(axis)},
            result_types=[self.found(found, tensor_type(ids), axis)],
        )

    @staticmethod
    @abstractmethod
    def found(x: Tensor, ids: Tensor, axis: int) -> Tensor:
        """Give the type of what is found in x at the positions; raises `VerifyException`."""

    def infer_type(self) -> Tensor:
        """Give the type of what is found."""
        return self.found(tensor_type(self.x), tensor_type(self.ids), self.axis.value.data)


@irdl_op_definition
class IndexSelectOp(AxisLookupOp):
    """Slices along an axis at positions of rank 1: `x[..., ids[i], ...]`."""

    name = "graph.index_select"

    @staticmethod
    def found(x: Tensor, ids: Tensor, axis: int) -> Tensor:
        """Give the type of x with one dimension replaced by positions of rank 1."""
        check_positions("graph.index_select", ids)
        check_axes([axis], x.get_num_dims())
        if ids.get_num_dims() != 1:
            raise VerifyException(f"graph.index_select: positions must have rank 1, got {ids}")
        sizes = list(x.get_shape())
        sizes[axis] = ids.get_shape()[0]
        return TensorType(x.element_type, sizes)


@irdl_op_definition
class GatherOp(AxisLookupOp):
    """One element for each position: (i, j, k) is `x[i, ids[i, j, k], k]` for axis 1."""

    name = "graph.gather"

    @staticmethod
    def found(x: Tensor, ids: Tensor, axis: int) -> Tensor:
        """Give the type of one element of x for each position: the shape of the positions."""
        check_positions("graph.gather", ids)
        check_axes([axis], x.get_num_dims())
        sizes, wanted = x.get_shape(), ids.get_shape()
        if len(sizes) != len(wanted) or any(
            wanted[i] > sizes[i] for i in range(len(sizes)) if i != axis
        ):
            raise VerifyException(
                f"graph.gather: positions {ids} must have the rank of {x} and fit in it outside "
                f"axis {axis}"
            )
        return TensorType(x.element_type, wanted)
