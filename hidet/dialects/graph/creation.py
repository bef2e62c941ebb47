"""Operators without an input: weights, fills, ranges and random numbers.

Random numbers are counter-based: a pure function of a seed and the element index.
"""

from xdsl.dialects.builtin import StringAttr, TensorType, f32, f64, i1, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from hidet.dialects.graph.base import (
    INT,
    NUMBER,
    TENSOR,
    GraphOp,
    Number,
    Tensor,
    check_axes,
    integer,
    is_float,
    normalized_axis,
    number,
    tensor_type,
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


DISTRIBUTIONS: dict[str, tuple[Attribute, ...]] = {
    "bits": (i32, i64),
    "uniform": (f32, f64),
    "normal": (f32, f64),
}
"""The distributions, with their element types."""


@irdl_op_definition
class RandomOp(GraphOp):
    """Pseudo-random numbers, determined by the seed alone.

        %r = graph.random %seeds {number = 2, distribution = "uniform"}
               : (tensor<4x2xi32>) -> tensor<8x64xf32>

    Row `number` of the seeds is the key of Philox4x32-10. The counter is the row-major index of the
    element, divided by the elements per counter: four of i32 and f32, two of i64 and f64, which
    take two words each. Distributions are `bits`, uniform integers; `uniform`, in [0, 1), multiples
    of 2^-24 (f64: 2^-53); `normal`, with mean 0 and variance 1.
    """

    name = "graph.random"

    seeds = operand_def(TENSOR)
    number = prop_def(INT)
    distribution = prop_def(StringAttr)

    def _infer_type(self) -> Tensor:
        seeds, found = tensor_type(self.seeds), self.result_type
        shape = seeds.get_shape()
        if seeds.element_type != i32 or len(shape) != 2 or shape[1] != 2:
            raise self.invalid(f"seeds are pairs of i32, not {seeds}")
        if not 0 <= self.number.value.data < shape[0]:
            raise self.invalid(f"there is no seed {self.number.value.data} among {shape[0]}")
        if found.element_type not in DISTRIBUTIONS.get(self.distribution.data, ()):
            raise self.invalid(f"no elements of {found.element_type} are {self.distribution}")
        return found
