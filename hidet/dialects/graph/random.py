"""Counter-based random numbers: a pure function of a seed and the element index."""

from xdsl.dialects.builtin import StringAttr, f32, f64, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from hidet.dialects.graph.base import INT, TENSOR, GraphOp, Tensor, Value, tensor_type

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
    take two words each.

    Args:
        seeds: tensor<nx2xi32>, the seeds of n operators.
        number: the row of this operator.
        distribution: `bits`, uniform integers; `uniform`, in [0, 1), multiples of 2^-24
            (f64: 2^-53); `normal`, with mean 0 and variance 1.
    """

    name = "graph.random"

    seeds = operand_def(TENSOR)
    number = prop_def(INT)
    distribution = prop_def(StringAttr)

    def __init__(self, seeds: Value, number: int, distribution: str, result_type: Tensor) -> None:
        super().__init__(seeds, number, distribution, result=result_type)

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
