"""Elementwise operators on one tensor: functions and casts.

`NaN` propagates through relu, as in torch.
"""

from abc import ABC
from typing import ClassVar

from xdsl.dialects import math
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, prop_def

from hidet.dialects.graph.base import BITS, FLOATS, NUMBERS, OneOperandOp, SameTypeOp, Tensor, Value
from hidet.dialects.graph.elementwise_trait import define, library
from hidet.dialects.shaped import bytes_of


class UnaryOp(SameTypeOp, ABC):
    """A function of each element of numbers."""

    ELEMENTS: ClassVar = NUMBERS


class FloatUnaryOp(UnaryOp, ABC):
    """A function of each floating-point element."""

    ELEMENTS: ClassVar = FLOATS


@irdl_op_definition
class GeluOp(FloatUnaryOp):
    """x times the normal CDF of x, exact or (`"tanh"`) approximated by tanh."""

    name = "graph.gelu"

    approximate = prop_def(StringAttr, default_value=StringAttr("none"))

    def _infer_type(self) -> Tensor:
        if self.approximate.data not in ("none", "tanh"):
            raise self.invalid(f'approximate must be "none" or "tanh", got {self.approximate}')
        return super()._infer_type()


@irdl_op_definition
class BitwiseNotOp(SameTypeOp):
    """The bitwise complement of an integer; the negation of an `i1`."""

    name = "graph.bitwise_not"
    ELEMENTS: ClassVar = BITS


class RetypingOp(OneOperandOp, ABC):
    """Each element in another type."""

    def __init__(self, x: Value, element: Attribute) -> None:
        super().__init__(x, result=TensorType(element, []))

    def _infer_type(self) -> Tensor:
        return TensorType(self.result_type.element_type, self.x_type.shape)


@irdl_op_definition
class CastOp(RetypingOp):
    """A conversion to another type; fractions are truncated, conversion to `i1` compares with 0.

    A floating-point number outside the range of an integer type converts to an unspecified integer.
    """

    name = "graph.cast"


@irdl_op_definition
class BitcastOp(RetypingOp):
    """The bits of each element as another type of numbers of the same width."""

    name = "graph.bitcast"

    def _infer_type(self) -> Tensor:
        NUMBERS.check(self.name, self.x_type, self.result_type)
        source, target = self.x_type.element_type, self.result_type.element_type
        if bytes_of(source) != bytes_of(target):
            raise self.invalid(f"{source} and {target} differ in width")
        return super()._infer_type()


AbsOp = define(UnaryOp, "abs", "The absolute value.", math.AbsFOp, math.AbsIOp)
NegOp = define(UnaryOp, "neg", "The negative.")
SignOp = define(UnaryOp, "sign", "-1, 0 or 1 with the sign of the element; 0 for NaN.")
ReluOp = define(UnaryOp, "relu", "The element where it is positive, else 0; NaN stays NaN.")
ExpOp = define(FloatUnaryOp, "exp", "e to the power of the element.", math.ExpOp)
Exp2Op = define(FloatUnaryOp, "exp2", "2 to the power of the element.", math.Exp2Op)
Expm1Op = define(
    FloatUnaryOp, "expm1", "e to the power of the element, minus 1, exact near 0.", math.ExpM1Op
)
LogOp = define(FloatUnaryOp, "log", "The natural logarithm.", math.LogOp)
Log2Op = define(FloatUnaryOp, "log2", "The logarithm to base 2.", math.Log2Op)
Log10Op = define(FloatUnaryOp, "log10", "The logarithm to base 10.", math.Log10Op)
Log1pOp = define(
    FloatUnaryOp, "log1p", "The natural logarithm of 1 + element, exact near 0.", math.Log1pOp
)
SqrtOp = define(FloatUnaryOp, "sqrt", "The square root; NaN below 0.", math.SqrtOp)
RsqrtOp = define(FloatUnaryOp, "rsqrt", "1 over the square root.", math.RsqrtOp)
ReciprocalOp = define(FloatUnaryOp, "reciprocal", "1 over the element.")
SinOp = define(FloatUnaryOp, "sin", "The sine of an angle in radians.", math.SinOp)
CosOp = define(FloatUnaryOp, "cos", "The cosine of an angle in radians.", math.CosOp)
TanOp = define(FloatUnaryOp, "tan", "The tangent of an angle in radians.", math.TanOp)
AsinOp = define(FloatUnaryOp, "asin", "The inverse sine, in radians.", math.AsinOp)
AcosOp = define(FloatUnaryOp, "acos", "The inverse cosine, in radians.", math.AcosOp)
AtanOp = define(FloatUnaryOp, "atan", "The inverse tangent, in radians.", math.AtanOp)
AsinhOp = define(FloatUnaryOp, "asinh", "The inverse hyperbolic sine.", math.AsinhOp)
AcoshOp = define(FloatUnaryOp, "acosh", "The inverse hyperbolic cosine.", math.AcoshOp)
AtanhOp = define(FloatUnaryOp, "atanh", "The inverse hyperbolic tangent.", math.AtanhOp)
LgammaOp = define(FloatUnaryOp, "lgamma", "The logarithm of |gamma(x)|.", library("lgamma"))
SinhOp = define(FloatUnaryOp, "sinh", "The hyperbolic sine.", math.SinhOp)
CoshOp = define(FloatUnaryOp, "cosh", "The hyperbolic cosine.", math.CoshOp)
TanhOp = define(FloatUnaryOp, "tanh", "The hyperbolic tangent.", math.TanhOp)
ErfOp = define(FloatUnaryOp, "erf", "The error function.", math.ErfOp)
ErfcOp = define(
    FloatUnaryOp, "erfc", "1 minus the error function, exact where that is near 0.", library("erfc")
)
SigmoidOp = define(FloatUnaryOp, "sigmoid", "1 / (1 + exp(-x)).")
SiluOp = define(FloatUnaryOp, "silu", "x * sigmoid(x).")
FloorOp = define(FloatUnaryOp, "floor", "The largest integer not above the element.", math.FloorOp)
CeilOp = define(FloatUnaryOp, "ceil", "The smallest integer not below the element.", math.CeilOp)
RoundOp = define(
    FloatUnaryOp, "round", "The nearest integer; halves go to the even one.", math.RoundEvenOp
)
TruncOp = define(FloatUnaryOp, "trunc", "The integer part.", math.TruncOp)
