"""Operators that multiply matrices: matmul, linear layers, attention."""

from abc import ABC

from xdsl.dialects.builtin import I64, BoolAttr, IntegerAttr, StringAttr, TensorType, f16, i1, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.graph.base import (
    FALSE,
    FLOAT64,
    FLOATS,
    TENSOR,
    GraphOp,
    Tensor,
    Value,
    broadcast_shapes,
    computation_type,
    element_type,
    shape_of,
    tensor_type,
)


class AnchorOp(GraphOp, ABC):
    """An operator that a template computes tile by tile, instead of becoming grids.

    `lower-graph-to-compute` keeps it, and `fuse` builds a kernel around it: producer grids become
    views that it loads, and grids that read one element of its result per element are its epilogue,
    evaluated at the stores. To add one, derive the operator from this class and write a template
    that accepts it.
    """


IEEE = StringAttr("ieee")
"""Operand precision, with f32 accumulation for f16 and bf16."""

PRECISIONS = ("ieee", "tf32", "f16", "fma")
"""`tf32` permits TF32 tensor cores for f32; `f16` accumulates f16 in f16; `fma` forbids tensor
cores."""


def check_precision(name: str, precision: StringAttr) -> None:
    """Raise `VerifyException` unless a precision is valid."""
    if precision.data not in PRECISIONS:
        names = ", ".join(PRECISIONS)
        raise VerifyException(f"{name}: precision must be one of {names}, got {precision}")


def sum_type(element: Attribute, precision: StringAttr) -> Attribute:
    """Return the accumulator type of an element type."""
    in_half = element == f16 and precision.data == "f16"
    return element if in_half else computation_type(element)


def check_bias(name: str, weight: SSAValue, bias: SSAValue | None) -> None:
    """Raise `VerifyException` unless a bias has the outputs of a weight [O, ...]."""
    if bias is not None and shape_of(bias) != shape_of(weight)[:1]:
        raise VerifyException(f"{name}: the bias of weight {weight.type} cannot be {bias.type}")


@irdl_op_definition
class MatmulOp(AnchorOp):
    """Matrix multiplication of [..., M, K] and [..., K, N]; leading dimensions broadcast.

    The result may be wider than the operands, such as f32 for f16: it has the accumulator type.
    With `slices`, so many blocks of a cluster compute each tile, each for a slice of K.
    """

    name = "graph.matmul"

    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)
    precision = prop_def(StringAttr, default_value=IEEE)
    slices = prop_def(IntegerAttr[I64], default_value=IntegerAttr(1, i64))

    def __init__(
        self,
        lhs: Value,
        rhs: Value,
        *,
        precision: str = "ieee",
        slices: int = 1,
        result_element: Attribute | None = None,
    ) -> None:
        result = TensorType(element_type(lhs) if result_element is None else result_element, [])
        super().__init__(lhs, rhs, result=result, precision=precision, slices=slices)

    def _infer_type(self) -> Tensor:
        check_precision(self.name, self.precision)
        self.check_same_element(*map(tensor_type, self.operands))
        left, right = map(shape_of, self.operands)
        if len(left) < 2 or len(right) < 2 or left[-1] != right[-2]:
            raise self.invalid(
                f"needs operands [..., M, K] and [..., K, N], got {self.lhs.type} and "
                f"{self.rhs.type}"
            )
        slices = self.slices.value.data
        if slices < 1 or left[-1] % slices:
            raise self.invalid(f"K of {left[-1]} cannot be split into {slices} slices")
        element = self.result_type.element_type
        self.check_sum_element(tensor_type(self.lhs), element)
        batch = broadcast_shapes(self.name, left[:-2], right[:-2])
        return TensorType(element, [*batch, left[-2], right[-1]])


@irdl_op_definition
class LinearOp(GraphOp):
    """x [..., I] times the transposed weight [O, I], plus the optional bias [O]."""

    name = "graph.linear"

    x = operand_def(TENSOR)
    weight = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    precision = prop_def(StringAttr, default_value=IEEE)

    def _infer_type(self) -> Tensor:
        check_precision(self.name, self.precision)
        self.check_same_element(*map(tensor_type, self.operands))
        sizes, weights = shape_of(self.x), shape_of(self.weight)
        if not sizes or len(weights) != 2 or sizes[-1] != weights[1]:
            raise self.invalid(
                f"needs x [..., I] and weight [O, I], got {self.x.type} and {self.weight.type}"
            )
        check_bias(self.name, self.weight, self.bias)
        return TensorType(element_type(self.x), [*sizes[:-1], weights[0]])


@irdl_op_definition
class ScaledDotProductAttentionOp(AnchorOp):
    """softmax(query key^T * scale + mask) value, over the last two dimensions.

    `scale` is 1 / sqrt(E) by default. A mask of `i1` selects keys, another one is added to the
    scores. With `causal`, query i attends to the keys 0 ... i only.
    """

    name = "graph.scaled_dot_product_attention"

    query = operand_def(TENSOR)
    key = operand_def(TENSOR)
    value = operand_def(TENSOR)
    mask = opt_operand_def(TENSOR)
    causal = prop_def(BoolAttr, default_value=FALSE)
    scale = opt_prop_def(FLOAT64)
    precision = prop_def(StringAttr, default_value=IEEE)

    def _infer_type(self) -> Tensor:
        check_precision(self.name, self.precision)
        types = [tensor_type(each) for each in (self.query, self.key, self.value)]
        self.check_same_element(*types)
        FLOATS.check(self.name, types[0])
        q, k, v = (each.get_shape() for each in types)
        if min(len(q), len(k), len(v)) < 2 or q[-1] != k[-1] or k[-2] != v[-2]:
            raise self.invalid(
                "needs query [..., L, E], key [..., S, E] and value [..., S, V], "
                "got {}, {} and {}".format(*types)
            )
        batch = broadcast_shapes(self.name, q[:-2], k[:-2], v[:-2])
        if self.mask is not None:
            self._check_mask(tensor_type(self.mask), (*batch, q[-2], k[-2]))
        return TensorType(types[0].element_type, [*batch, q[-2], v[-1]])

    def _check_mask(self, mask: Tensor, scores: tuple[int, ...]) -> None:
        """Raise `VerifyException` unless the mask fits the scores."""
        element = element_type(self.query)
        if mask.element_type not in (i1, element):
            raise self.invalid(f"the mask must be of i1 or of {element}")
        if broadcast_shapes(self.name, scores, mask.get_shape()) != scores:
            raise self.invalid(f"{mask} does not broadcast to scores {list(scores)}")
