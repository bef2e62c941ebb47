"""Operators that multiply matrices and add up: matrix products, linear layers, attention."""

from xdsl.dialects.builtin import BoolAttr, FloatAttr, StringAttr, TensorType, f64, i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.graph.anchor import AnchorOp
from hidet.dialects.graph.base import (
    FALSE,
    FLOAT64,
    TENSOR,
    GraphOp,
    Tensor,
    Value,
    broadcast_shapes,
    check_float,
    check_same_element,
    check_sum_element,
    element_type,
    optional_type,
    tensor_type,
)

IEEE = StringAttr("ieee")
"""Products are computed in the precision of the operands; `"tf32"` permits TF32 tensor cores."""


def check_precision(name: str, precision: StringAttr) -> None:
    """Raise `VerifyException` unless the precision is one that there is."""
    if precision.data not in ("ieee", "tf32"):
        raise VerifyException(f'{name}: precision must be "ieee" or "tf32", got {precision}')


def multiplied(lhs: Tensor, rhs: Tensor, element: Attribute) -> Tensor:
    """Give the type of lhs [..., M, K] times rhs [..., K, N] in an element type not narrower."""
    name = "graph.matmul"
    check_same_element(name, lhs, rhs)
    left, right = lhs.get_shape(), rhs.get_shape()
    if len(left) < 2 or len(right) < 2 or left[-1] != right[-2]:
        raise VerifyException(
            f"{name}: needs operands [..., M, K] and [..., K, N], got {lhs} and {rhs}"
        )
    check_sum_element(name, lhs, element)
    batch = broadcast_shapes(name, left[:-2], right[:-2])
    return TensorType(element, [*batch, left[-2], right[-1]])


@irdl_op_definition
class MatmulOp(AnchorOp):
    """Products of matrices [..., M, K] and [..., K, N]; the leading dimensions broadcast.

    The result may be wider than the operands, f32 for f16: the type that is accumulated in.
    """

    name = "graph.matmul"

    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)
    precision = prop_def(StringAttr, default_value=IEEE)

    def __init__(
        self,
        lhs: Value,
        rhs: Value,
        *,
        precision: str = "ieee",
        result_element: Attribute | None = None,
    ) -> None:
        element = element_type(lhs) if result_element is None else result_element
        super().__init__(
            operands=[lhs, rhs],
            properties={"precision": StringAttr(precision)},
            result_types=[multiplied(tensor_type(lhs), tensor_type(rhs), element)],
        )

    def infer_type(self) -> Tensor:
        """Give the type of the products, in the element type of the result."""
        check_precision(self.name, self.precision)
        element = self.result_type.element_type
        return multiplied(tensor_type(self.lhs), tensor_type(self.rhs), element)


def linear_type(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Give the type of x [..., I] times weight [O, I] transposed, plus bias [O]: [..., O]."""
    name = "graph.linear"
    check_same_element(name, *(t for t in (x, weight, bias) if t is not None))
    sizes, weights = x.get_shape(), weight.get_shape()
    if not sizes or len(weights) != 2 or sizes[-1] != weights[1]:
        raise VerifyException(f"{name}: needs x [..., I] and weight [O, I], got {x} and {weight}")
    if bias is not None and bias.get_shape() != (weights[0],):
        raise VerifyException(f"{name}: the bias of weight {weight} cannot be {bias}")
    return TensorType(x.element_type, [*sizes[:-1], weights[0]])


@irdl_op_definition
class LinearOp(GraphOp):
    """x [..., I] times the transposed weight [O, I], plus the bias [O] if there is one."""

    name = "graph.linear"

    x = operand_def(TENSOR)
    weight = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    precision = prop_def(StringAttr, default_value=IEEE)

    def __init__(
        self, x: Value, weight: Value, bias: Value | None = None, *, precision: str = "ieee"
    ) -> None:
        super().__init__(
            operands=[x, weight, bias],
            properties={"precision": StringAttr(precision)},
            result_types=[linear_type(tensor_type(x), tensor_type(weight), optional_type(bias))],
        )

    def infer_type(self) -> Tensor:
        """Give the type of x with the outputs as last dimension."""
        check_precision(self.name, self.precision)
        return linear_type(tensor_type(self.x), tensor_type(self.weight), optional_type(self.bias))


def attended(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """Give the type of attention of query [..., L, E] to key [..., S, E] and value [..., S, V]."""
    name = "graph.scaled_dot_product_attention"
    check_same_element(name, query, key, value)
    check_float(name, query)
    q, k, v = query.get_shape(), key.get_shape(), value.get_shape()
    if min(len(q), len(k), len(v)) < 2 or q[-1] != k[-1] or k[-2] != v[-2]:
        raise VerifyException(
            f"{name}: needs query [..., L, E], key [..., S, E] and value [..., S, V], got {query}, "
            f"{key} and {value}"
        )
    batch = broadcast_shapes(name, q[:-2], k[:-2], v[:-2])
    scores = (*batch, q[-2], k[-2])
    if mask is not None:
        if mask.element_type not in (i1, query.element_type):
            raise VerifyException(f"{name}: the mask must be of i1 or of {query.element_type}")
        if broadcast_shapes(name, scores, mask.get_shape()) != scores:
            raise VerifyException(f"{name}: {mask} does not broadcast to scores {list(scores)}")
    return TensorType(query.element_type, [*batch, q[-2], v[-1]])


@irdl_op_definition
class ScaledDotProductAttentionOp(GraphOp):
    """softmax(query key^T * scale + mask) value, over the last two dimensions.

    `scale` is 1 / sqrt(E) where it is not given. A mask of `i1` says which keys take part, another
    is added to the scores. `causal` lets query i attend to the keys 0 ... i only.
    """

    name = "graph.scaled_dot_product_attention"

    query = operand_def(TENSOR)
    key = operand_def(TENSOR)
    value = operand_def(TENSOR)
    mask = opt_operand_def(TENSOR)
    causal = prop_def(BoolAttr, default_value=FALSE)
    scale = opt_prop_def(FLOAT64)
    precision = prop_def(StringAttr, default_value=IEEE)

    def __init__(
        self,
        query: Value,
        key: Value,
        value: Value,
        mask: Value | None = None,
        *,
        causal: bool = False,
        scale: float | None = None,
        precision: str = "ieee",
    ) -> None:
        inferred = attended(
            tensor_type(query), tensor_type(key), tensor_type(value), optional_type(mask)
        )
        super().__init__(
            operands=[query, key, value, mask],
            properties={
                "causal": BoolAttr.from_bool(causal),
                "scale": None if scale is None else FloatAttr(scale, f64),
                "precision": StringAttr(precision),
            },
            result_types=[inferred],
        )

    def infer_type(self) -> Tensor:
        """Give the type of the queries with the last dimension of the values."""
        check_precision(self.name, self.precision)
        query, key, value = (tensor_type(v) for v in (self.query, self.key, self.value))
        return attended(query, key, value, optional_type(self.mask))
