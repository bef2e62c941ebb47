"""Operators on the elements of one tensor: functions, predicates, casts, clamping.

`NaN` propagates through what compares (relu, clamp), as in torch.
"""

from abc import ABC

from xdsl.dialects import math
from xdsl.dialects.builtin import StringAttr, TensorType, i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, traits_def
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.graph.base import (
    NUMBER,
    TENSOR,
    GraphOp,
    Number,
    SameTypeOp,
    Tensor,
    Value,
    check_float,
    check_not_float,
    element_type,
    number,
    tensor_type,
)
from hidet.dialects.graph.elementwise_trait import Elementwise, library


class UnaryOp(SameTypeOp, ABC):
    """A function of each element of numbers; the result has the type of the operand."""

    def __init__(self, x: Value) -> None:
        super().__init__(operands=[x], result_types=[tensor_type(x)])

    def infer_type(self) -> Tensor:
        """Give the type of the operand."""
        found = tensor_type(self.x)
        if found.element_type == i1:
            raise VerifyException(f"{self.name}: needs elements that are numbers, got {found}")
        return found


class FloatUnaryOp(UnaryOp, ABC):
    """A function of each element of a floating-point tensor."""

    def infer_type(self) -> Tensor:
        """Give the type of the operand."""
        check_float(self.name, tensor_type(self.x))
        return tensor_type(self.x)


class PredicateOp(GraphOp, ABC):
    """A question about each element, answered with `i1`."""

    x = operand_def(TENSOR)

    def __init__(self, x: Value) -> None:
        super().__init__(operands=[x], result_types=[TensorType(i1, tensor_type(x).shape)])

    def infer_type(self) -> Tensor:
        """Give a tensor of `i1` in the shape of the operand."""
        return TensorType(i1, tensor_type(self.x).shape)


@irdl_op_definition
class AbsOp(UnaryOp):
    """The absolute value."""

    name = "graph.abs"
    traits = traits_def(Elementwise(math.AbsFOp, math.AbsIOp))


@irdl_op_definition
class NegOp(UnaryOp):
    """The negative."""

    name = "graph.neg"


@irdl_op_definition
class SignOp(UnaryOp):
    """-1, 0 or 1 with the sign of the element; 0 for NaN."""

    name = "graph.sign"


@irdl_op_definition
class ReluOp(UnaryOp):
    """The element where it is positive, else 0; NaN stays NaN."""

    name = "graph.relu"


@irdl_op_definition
class ExpOp(FloatUnaryOp):
    """e to the power of the element."""

    name = "graph.exp"
    traits = traits_def(Elementwise(math.ExpOp))


@irdl_op_definition
class Exp2Op(FloatUnaryOp):
    """2 to the power of the element."""

    name = "graph.exp2"
    traits = traits_def(Elementwise(math.Exp2Op))


@irdl_op_definition
class Expm1Op(FloatUnaryOp):
    """e to the power of the element, minus 1, exact near 0."""

    name = "graph.expm1"
    traits = traits_def(Elementwise(math.ExpM1Op))


@irdl_op_definition
class LogOp(FloatUnaryOp):
    """The natural logarithm."""

    name = "graph.log"
    traits = traits_def(Elementwise(math.LogOp))


@irdl_op_definition
class Log2Op(FloatUnaryOp):
    """The logarithm to base 2."""

    name = "graph.log2"
    traits = traits_def(Elementwise(math.Log2Op))


@irdl_op_definition
class Log10Op(FloatUnaryOp):
    """The logarithm to base 10."""

    name = "graph.log10"
    traits = traits_def(Elementwise(math.Log10Op))


@irdl_op_definition
class Log1pOp(FloatUnaryOp):
    """The natural logarithm of 1 + element, exact near 0."""

    name = "graph.log1p"
    traits = traits_def(Elementwise(math.Log1pOp))


@irdl_op_definition
class SqrtOp(FloatUnaryOp):
    """The square root; NaN below 0."""

    name = "graph.sqrt"
    traits = traits_def(Elementwise(math.SqrtOp))


@irdl_op_definition
class RsqrtOp(FloatUnaryOp):
    """1 over the square root."""

    name = "graph.rsqrt"
    traits = traits_def(Elementwise(math.RsqrtOp))


@irdl_op_definition
class ReciprocalOp(FloatUnaryOp):
    """1 over the element."""

    name = "graph.reciprocal"


@irdl_op_definition
class SinOp(FloatUnaryOp):
    """The sine of an angle in radians."""

    name = "graph.sin"
    traits = traits_def(Elementwise(math.SinOp))


@irdl_op_definition
class CosOp(FloatUnaryOp):
    """The cosine of an angle in radians."""

    name = "graph.cos"
    traits = traits_def(Elementwise(math.CosOp))


@irdl_op_definition
class TanOp(FloatUnaryOp):
    """The tangent of an angle in radians."""

    name = "graph.tan"
    traits = traits_def(Elementwise(math.TanOp))


@irdl_op_definition
class AsinOp(FloatUnaryOp):
    """The inverse sine, in radians."""

    name = "graph.asin"
    traits = traits_def(Elementwise(math.AsinOp))


@irdl_op_definition
class AcosOp(FloatUnaryOp):
    """The inverse cosine, in radians."""

    name = "graph.acos"
    traits = traits_def(Elementwise(math.AcosOp))


@irdl_op_definition
class AtanOp(FloatUnaryOp):
    """The inverse tangent, in radians."""

    name = "graph.atan"
    traits = traits_def(Elementwise(math.AtanOp))


@irdl_op_definition
class SinhOp(FloatUnaryOp):
    """The hyperbolic sine."""

    name = "graph.sinh"
    traits = traits_def(Elementwise(math.SinhOp))


@irdl_op_definition
class CoshOp(FloatUnaryOp):
    """The hyperbolic cosine."""

    name = "graph.cosh"
    traits = traits_def(Elementwise(math.CoshOp))


@irdl_op_definition
class TanhOp(FloatUnaryOp):
    """The hyperbolic tangent."""

    name = "graph.tanh"
    traits = traits_def(Elementwise(math.TanhOp))


@irdl_op_definition
class ErfOp(FloatUnaryOp):
    """The error function."""

    name = "graph.erf"
    traits = traits_def(Elementwise(math.ErfOp))


@irdl_op_definition
class ErfcOp(FloatUnaryOp):
    """1 minus the error function, exact where that is near 0."""

    name = "graph.erfc"
    traits = traits_def(Elementwise(library("erfc")))


@irdl_op_definition
class SigmoidOp(FloatUnaryOp):
    """1 / (1 + exp(-x))."""

    name = "graph.sigmoid"


@irdl_op_definition
class SiluOp(FloatUnaryOp):
    """x * sigmoid(x)."""

    name = "graph.silu"


@irdl_op_definition
class FloorOp(FloatUnaryOp):
    """The largest integer not above the element."""

    name = "graph.floor"
    traits = traits_def(Elementwise(math.FloorOp))


@irdl_op_definition
class CeilOp(FloatUnaryOp):
    """The smallest integer not below the element."""

    name = "graph.ceil"
    traits = traits_def(Elementwise(math.CeilOp))


@irdl_op_definition
class RoundOp(FloatUnaryOp):
    """The nearest integer; halves go to the even one."""

    name = "graph.round"
    traits = traits_def(Elementwise(math.RoundEvenOp))


@irdl_op_definition
class TruncOp(FloatUnaryOp):
    """The integer part."""

    name = "graph.trunc"
    traits = traits_def(Elementwise(math.TruncOp))


@irdl_op_definition
class GeluOp(FloatUnaryOp):
    """x times the normal distribution function of x, exact or (`"tanh"`) approximated by tanh."""

    name = "graph.gelu"

    approximate = prop_def(StringAttr, default_value=StringAttr("none"))

    def __init__(self, x: Value, approximate: str = "none") -> None:
        super(UnaryOp, self).__init__(
            operands=[x],
            properties={"approximate": StringAttr(approximate)},
            result_types=[tensor_type(x)],
        )

    def infer_type(self) -> Tensor:
        """Give the type of the operand."""
        if self.approximate.data not in ("none", "tanh"):
            raise VerifyException(
                f'{self.name}: approximate must be "none" or "tanh", got {self.approximate}'
            )
        return super().infer_type()


@irdl_op_definition
class BitwiseNotOp(SameTypeOp):
    """All bits of an integer flipped; the negation of an `i1`."""

    name = "graph.bitwise_not"

    def __init__(self, x: Value) -> None:
        super().__init__(operands=[x], result_types=[tensor_type(x)])

    def infer_type(self) -> Tensor:
        """Give the type of the operand."""
        check_not_float(self.name, tensor_type(self.x))
        return tensor_type(self.x)


@irdl_op_definition
class LogicalNotOp(PredicateOp):
    """Whether the element is 0."""

    name = "graph.logical_not"


@irdl_op_definition
class IsnanOp(PredicateOp):
    """Whether the element of a floating-point tensor is not a number."""

    name = "graph.isnan"

    def infer_type(self) -> Tensor:
        """Give a tensor of `i1` in the shape of the operand."""
        check_float(self.name, tensor_type(self.x))
        return super().infer_type()


@irdl_op_definition
class IsinfOp(PredicateOp):
    """Whether the element of a floating-point tensor is infinite."""

    name = "graph.isinf"

    def infer_type(self) -> Tensor:
        """Give a tensor of `i1` in the shape of the operand."""
        check_float(self.name, tensor_type(self.x))
        return super().infer_type()


@irdl_op_definition
class CastOp(GraphOp):
    """Each element in another type; a fraction is cut off, `i1` is whether it is not 0.

    A floating-point number outside the range of an integer type gives an unspecified integer.
    """

    name = "graph.cast"

    x = operand_def(TENSOR)

    def __init__(self, x: Value, element: Attribute) -> None:
        super().__init__(operands=[x], result_types=[TensorType(element, tensor_type(x).shape)])

    def infer_type(self) -> Tensor:
        """Give the shape of the operand with the result's element type."""
        return TensorType(self.result_type.element_type, tensor_type(self.x).shape)


@irdl_op_definition
class ClampOp(SameTypeOp):
    """Each element, but not below `min` and not above `max`; NaN stays NaN."""

    name = "graph.clamp"

    min = opt_prop_def(NUMBER)
    max = opt_prop_def(NUMBER)

    def __init__(self, x: Value, min: Number | None = None, max: Number | None = None) -> None:
        element = element_type(x)
        super().__init__(
            operands=[x],
            properties={
                "min": None if min is None else number(min, element),
                "max": None if max is None else number(max, element),
            },
            result_types=[tensor_type(x)],
        )

    def infer_type(self) -> Tensor:
        """Give the type of the operand."""
        found = tensor_type(self.x)
        if self.min is None and self.max is None:
            raise VerifyException(f"{self.name}: needs min, max or both")
        for bound in (self.min, self.max):
            if bound is not None and bound.type != found.element_type:
                raise VerifyException(f"{self.name}: the bound {bound} does not fit {found}")
        return found
