"""The operator that writes a tensor at positions given by a tensor of integers."""

from math import prod

from xdsl.dialects.builtin import BoolAttr, f32, f64, i32, i64
from xdsl.irdl import irdl_op_definition, operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.graph.base import FALSE, TENSOR, Tensor, check_same_element, tensor_type
from hidet.dialects.graph.lookup import LookupOp

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
            raise VerifyException(
                f"{self.name}: needs [M], [M, D] and rows of D, got {ids}, {source} and {x}"
            )
        check_same_element(self.name, x, source)
        if self.accumulate and x.element_type not in ACCUMULATED:
            raise VerifyException(f"{self.name}: elements of {x} are not added up, cast them first")
        return x
