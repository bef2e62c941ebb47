"""Elementwise operators: functions of one tensor, functions of two, and selection.

Two tensors broadcast by the rules of numpy and have the same element type; the frontend inserts the
casts of torch's type promotion. `NaN` propagates through relu, maximum and minimum, as in torch.
"""

from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypeVar

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import StringAttr, TensorType, i1
from xdsl.ir import Attribute, Operation
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, traits_def
from xdsl.traits import OpTrait

from hidet.dialects import fields
from hidet.dialects.cuda.arithmetic import FunctionOp
from hidet.dialects.graph.base import (
    BITS,
    FLOATS,
    INTEGERS,
    NUMBERS,
    TENSOR,
    GraphOp,
    OneOperandOp,
    SameTypeOp,
    Tensor,
    Value,
    broadcast_shapes,
    element_type,
    is_float,
    shape_of,
    tensor_type,
)
from hidet.dialects.shaped import bytes_of

ScalarOp = Callable[..., Operation]
"""Creates a scalar op from its operands."""
Family = TypeVar("Family", bound=GraphOp)


@dataclass(frozen=True)
class Elementwise(OpTrait):
    """The operator applies one scalar op per element, chosen by element type.

    All lowerings and the PyTorch importer use this trait: an operator with the trait and the name
    of an ATen operator needs nothing else. The fields create the op on floating-point numbers, on
    integers and on `i1`, and are None if there is none.
    """

    floats: ScalarOp | None = None
    integers: ScalarOp | None = None
    booleans: ScalarOp | None = None

    def scalar_op(self, element: Attribute) -> ScalarOp | None:
        """Return the scalar op for a type, None if there is none."""
        if element == i1:
            return self.booleans
        return self.floats if is_float(element) else self.integers


def library(name: str) -> ScalarOp:
    """Return the scalar op that calls a function of `hidet.arch.functions` on floats."""
    return lambda *values: FunctionOp(name, values, values[0].type)


def define(
    family: type[Family], name: str, summary: str, *scalars: ScalarOp | None, **given: object
) -> type[Family]:
    """Return an operator, which has the fields of its base class `family` that are not given.

    Elementwise operators have `scalars`; without, a lowering rule defines the operator.
    """
    if scalars:
        given["traits"] = traits_def(Elementwise(*scalars))
    return fields.define(family, f"graph.{name}", summary, **given)


class UnaryOp(SameTypeOp, ABC):
    """A function of each element of numbers."""

    ELEMENTS: ClassVar = NUMBERS


_unary, _float_unary = partial(define, UnaryOp), partial(define, UnaryOp, ELEMENTS=FLOATS)


@irdl_op_definition
class GeluOp(UnaryOp):
    """x times the normal CDF of x, exact or (`"tanh"`) approximated by tanh."""

    name = "graph.gelu"
    ELEMENTS: ClassVar = FLOATS

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


AbsOp = _unary("abs", "The absolute value.", math.AbsFOp, math.AbsIOp)
NegOp = _unary("neg", "The negative.")
SignOp = _unary("sign", "-1, 0 or 1 with the sign of the element; 0 for NaN.")
ReluOp = _unary("relu", "The element where it is positive, else 0; NaN stays NaN.")
ExpOp = _float_unary("exp", "e to the power of the element.", math.ExpOp)
Exp2Op = _float_unary("exp2", "2 to the power of the element.", math.Exp2Op)
Expm1Op = _float_unary(
    "expm1", "e to the power of the element, minus 1, exact near 0.", math.ExpM1Op
)
LogOp = _float_unary("log", "The natural logarithm.", math.LogOp)
Log2Op = _float_unary("log2", "The logarithm to base 2.", math.Log2Op)
Log10Op = _float_unary("log10", "The logarithm to base 10.", math.Log10Op)
Log1pOp = _float_unary("log1p", "The natural logarithm of 1 + element, exact near 0.", math.Log1pOp)
SqrtOp = _float_unary("sqrt", "The square root; NaN below 0.", math.SqrtOp)
RsqrtOp = _float_unary("rsqrt", "1 over the square root.", math.RsqrtOp)
ReciprocalOp = _float_unary("reciprocal", "1 over the element.")
SinOp = _float_unary("sin", "The sine of an angle in radians.", math.SinOp)
CosOp = _float_unary("cos", "The cosine of an angle in radians.", math.CosOp)
TanOp = _float_unary("tan", "The tangent of an angle in radians.", math.TanOp)
AsinOp = _float_unary("asin", "The inverse sine, in radians.", math.AsinOp)
AcosOp = _float_unary("acos", "The inverse cosine, in radians.", math.AcosOp)
AtanOp = _float_unary("atan", "The inverse tangent, in radians.", math.AtanOp)
AsinhOp = _float_unary("asinh", "The inverse hyperbolic sine.", math.AsinhOp)
AcoshOp = _float_unary("acosh", "The inverse hyperbolic cosine.", math.AcoshOp)
AtanhOp = _float_unary("atanh", "The inverse hyperbolic tangent.", math.AtanhOp)
LgammaOp = _float_unary("lgamma", "The logarithm of |gamma(x)|.", library("lgamma"))
SinhOp = _float_unary("sinh", "The hyperbolic sine.", math.SinhOp)
CoshOp = _float_unary("cosh", "The hyperbolic cosine.", math.CoshOp)
TanhOp = _float_unary("tanh", "The hyperbolic tangent.", math.TanhOp)
ErfOp = _float_unary("erf", "The error function.", math.ErfOp)
ErfcOp = _float_unary(
    "erfc", "1 minus the error function, exact where that is near 0.", library("erfc")
)
SigmoidOp = _float_unary("sigmoid", "1 / (1 + exp(-x)).")
SiluOp = _float_unary("silu", "x * sigmoid(x).")
FloorOp = _float_unary("floor", "The largest integer not above the element.", math.FloorOp)
CeilOp = _float_unary("ceil", "The smallest integer not below the element.", math.CeilOp)
RoundOp = _float_unary("round", "The nearest integer; halves go to the even one.", math.RoundEvenOp)
TruncOp = _float_unary("trunc", "The integer part.", math.TruncOp)


class TwoOperandsOp(GraphOp, ABC):
    """A function of two elements of the same type; operands broadcast."""

    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)

    def _infer_type(self) -> Tensor:
        self.check_same_element(tensor_type(self.lhs), tensor_type(self.rhs))
        shape = broadcast_shapes(self.name, shape_of(self.lhs), shape_of(self.rhs))
        return TensorType(element_type(self.lhs), shape)


class BinaryOp(TwoOperandsOp, ABC):
    """A function of two elements whose result has their type.

    On `i1`, add and maximum are "or", mul and minimum are "and", as in torch.
    """


class BitwiseOp(BinaryOp, ABC):
    """A binary operator on the bits of integers, or on `i1`."""

    ELEMENTS: ClassVar = BITS


class ComparisonOp(TwoOperandsOp, ABC):
    """A comparison of two elements with an `i1` result; with NaN only `ne` is true."""

    def _infer_type(self) -> Tensor:
        return TensorType(i1, super()._infer_type().shape)


def _comparison(
    name: str, summary: str, floats: str, integers: str, booleans: str
) -> type[ComparisonOp]:
    """Return a comparison with these predicates of `arith.cmpf` and `arith.cmpi`."""
    compare = partial(arith.CmpiOp, arg=integers), partial(arith.CmpiOp, arg=booleans)
    return define(ComparisonOp, name, summary, partial(arith.CmpfOp, arg=floats), *compare)


_binary, _arithmetic = partial(define, BinaryOp), partial(define, BinaryOp, ELEMENTS=NUMBERS)
_float_binary = partial(define, BinaryOp, ELEMENTS=FLOATS)
_bitwise, _shift = partial(define, BitwiseOp), partial(define, BitwiseOp, ELEMENTS=INTEGERS)


@irdl_op_definition
class WhereOp(GraphOp):
    """A selection by a condition; all three operands broadcast."""

    name = "graph.where"

    condition = operand_def(TENSOR)
    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)

    def _infer_type(self) -> Tensor:
        condition, lhs, rhs = map(tensor_type, self.operands)
        if condition.element_type != i1:
            raise self.invalid(f"the condition must have i1 elements, got {condition}")
        self.check_same_element(lhs, rhs)
        shape = broadcast_shapes(self.name, *map(shape_of, self.operands))
        return TensorType(lhs.element_type, shape)


AddOp = _binary("add", "The sum.", arith.AddfOp, arith.AddiOp, arith.OrIOp)
SubOp = _arithmetic("sub", "The difference.", arith.SubfOp, arith.SubiOp)
MulOp = _binary("mul", "The product.", arith.MulfOp, arith.MuliOp, arith.AndIOp)
DivOp = _float_binary("div", "The quotient of floating-point numbers.", arith.DivfOp)
FloorDivideOp = _arithmetic(
    "floor_divide", "The quotient, rounded down. An integer divisor must not be 0."
)
RemainderOp = _arithmetic(
    "remainder", "The remainder of `floor_divide`, with the sign of the divisor."
)
FmodOp = _arithmetic(
    "fmod",
    "The remainder of truncating division, with the sign of the dividend.",
    library("fmod"),
    arith.RemSIOp,
)
PowOp = _arithmetic("pow", "The left to the power of the right.", math.PowFOp, math.IPowIOp)
MaximumOp = _binary(
    "maximum", "The larger; NaN if either is.", arith.MaximumfOp, arith.MaxSIOp, arith.OrIOp
)
MinimumOp = _binary(
    "minimum", "The smaller; NaN if either is.", arith.MinimumfOp, arith.MinSIOp, arith.AndIOp
)
Atan2Op = _float_binary("atan2", "The angle of the point (right, left), in radians.", math.Atan2Op)
HypotOp = _float_binary("hypot", "The length of the vector (left, right).", library("hypot"))
CopysignOp = _float_binary("copysign", "The left with the sign of the right.", math.CopySignOp)
NextafterOp = _float_binary(
    "nextafter",
    "The next representable number from the left operand towards the right.",
    library("nextafter"),
)
BitwiseAndOp = _bitwise("bitwise_and", "The bits set in both.", None, arith.AndIOp, arith.AndIOp)
BitwiseOrOp = _bitwise("bitwise_or", "The bits set in either.", None, arith.OrIOp, arith.OrIOp)
BitwiseXorOp = _bitwise(
    "bitwise_xor", "The bits set in one of the two.", None, arith.XOrIOp, arith.XOrIOp
)
BitwiseLeftShiftOp = _shift(
    "bitwise_left_shift", "The left shift; 0 if the count exceeds the width.", None, arith.ShLIOp
)
BitwiseRightShiftOp = _shift(
    "bitwise_right_shift",
    "The arithmetic right shift; the sign if the count exceeds the width.",
    None,
    arith.ShRSIOp,
)
EqOp = _comparison("eq", "Whether the two are equal.", "oeq", "eq", "eq")
NeOp = _comparison("ne", "Whether the two differ.", "une", "ne", "ne")
LtOp = _comparison("lt", "Whether the left is smaller.", "olt", "slt", "ult")
LeOp = _comparison("le", "Whether the left is smaller or equal.", "ole", "sle", "ule")
GtOp = _comparison("gt", "Whether the left is larger.", "ogt", "sgt", "ugt")
GeOp = _comparison("ge", "Whether the left is larger or equal.", "oge", "sge", "uge")
