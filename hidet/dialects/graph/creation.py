"""Operators without operands: weights, fills and ranges."""

from xdsl.dialects.builtin import StringAttr, TensorType, f64, i1, i64
from xdsl.irdl import irdl_op_definition, prop_def

from hidet.dialects.graph.base import (
    INT,
    NUMBER,
    GraphOp,
    Number,
    Tensor,
    check_axes,
    integer,
    is_float,
    normalized_axis,
    number,
)


@irdl_op_definition
class ConstantOp(GraphOp):
    """A weight or buffer, by name; its data is not part of the program.

    The frontend names parameters and buffers `"p0"`, `"p1"`, ...; results of `@prepare` are
    `"prepared0"`, `"prepared1"`, ...
    """

    name = "graph.constant"

    key = prop_def(StringAttr, prop_name="name")

    assembly_format = "$name attr-dict `:` type($result)"

    def __init__(self, key: str, result_type: Tensor) -> None:
        super().__init__(result=result_type, name=key)

    def _infer_type(self) -> Tensor:
        return self.result_type


@irdl_op_definition
class FillOp(GraphOp):
    """A tensor filled with one value; of rank 0, a scalar."""

    name = "graph.fill"

    value = prop_def(NUMBER)

    assembly_format = "$value attr-dict `:` type($result)"

    def __init__(self, value: Number, result_type: Tensor) -> None:
        super().__init__(result=result_type, value=number(value, result_type.element_type))

    def _infer_type(self) -> Tensor:
        return TensorType(self.value.type, self.result_type.shape)


@irdl_op_definition
class IotaOp(GraphOp):
    """A range along one dimension: element `[..., i, ...]` is `start + step * i`.

    `start` and `step` are 64 bits wide, and integers for a tensor of integers.
    """

    name = "graph.iota"

    start = prop_def(NUMBER)
    step = prop_def(NUMBER)
    dim = prop_def(INT, default_value=integer(0))

    assembly_format = "attr-dict `:` type($result)"

    def __init__(
        self, result_type: Tensor, *, dim: int = 0, start: float = 0, step: float = 1
    ) -> None:
        wide = f64 if is_float(result_type.element_type) else i64
        super().__init__(
            result=result_type,
            start=number(start, wide),
            step=number(step, wide),
            dim=normalized_axis(dim, result_type.get_num_dims()),
        )

    def _infer_type(self) -> Tensor:
        found = self.result_type
        check_axes([self.dim.value.data], found.get_num_dims())
        element = found.element_type
        wide = f64 if is_float(element) else i64
        if element == i1 or self.start.type != wide or self.step.type != wide:
            raise self.invalid(f"a range of {element} cannot go from {self.start} by {self.step}")
        return found
