"""The operator that writes a tensor at positions given by another tensor of integers."""

from xdsl.dialects.builtin import TensorType, UnitAttr, f32, f64, i32, i64
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.graph.base import TENSOR, GraphOp, Tensor, Value, tensor_type
from hidet.dialects.graph.lookup import check_positions

ACCUMULATED = (f32, f64, i32, i64)
"""The element types that are added up; others are cast before and afterwards."""


def scattered(x: Tensor, positions: Tensor, source: Tensor, *, accumulate: bool) -> Tensor:
    """Give the type of x [N, D] with rows of a source [M, D] at positions [M]."""
    name = "graph.scatter"
    check_positions(name, positions)
    ranks = [each.get_num_dims() for each in (x, positions, source)]
    rows = (*positions.get_shape(), *x.get_shape()[1:])
    if ranks != [2, 1, 2] or source.get_shape() != rows:
        raise VerifyException(f"{name}: needs [N, D], [M], [M, D], got {x}, {positions}, {source}")
    if x.element_type != source.element_type:
        raise VerifyException(f"{name}: {x} and {source} differ in their elements")
    if accumulate and x.element_type not in ACCUMULATED:
        raise VerifyException(f"{name}: elements of {x} are not added up, cast them before")
    return TensorType(x.element_type, x.get_shape())


@irdl_op_definition
class ScatterOp(GraphOp):
    """X [N, D] after `x[positions[m]] = source[m]`, or `+=` to accumulate, for every m.

    Where a position comes several times, the sum has all rows of the source in any order, and
    without `accumulate` it is not said which of them is left.
    """

    name = "graph.scatter"

    x = operand_def(TENSOR)
    positions = operand_def(TENSOR)
    source = operand_def(TENSOR)
    accumulate = opt_prop_def(UnitAttr)

    def __init__(
        self, x: Value, positions: Value, source: Value, *, accumulate: bool = False
    ) -> None:
        types = [tensor_type(each) for each in (x, positions, source)]
        super().__init__(
            operands=[x, positions, source],
            properties={"accumulate": UnitAttr() if accumulate else None},
            result_types=[scattered(*types, accumulate=accumulate)],
        )

    def infer_type(self) -> Tensor:
        """Give the type of x."""
        types = [tensor_type(each) for each in (self.x, self.positions, self.source)]
        return scattered(*types, accumulate=self.accumulate is not None)
