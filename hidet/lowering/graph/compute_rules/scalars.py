"""Scalar rules: what an elementwise operator does to the elements, in the type of computation.

A rule is called with the builder, the operation (for its properties) and a scalar an operand. It
gives a scalar of the type that the result's elements are computed in. Floating-point rules follow
torch's formulas, so that infinities and NaN come out as there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import pi, sqrt
from typing import Any

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from hidet.dialects import graph
from hidet.dialects.cuda.functions import FunctionOp
from hidet.dialects.cuda.integers import FloorModOp
from hidet.dialects.graph.base import computation_type, is_float, python_number
from hidet.dialects.locations import source_line
from hidet.errors import UnsupportedDtypeError
from hidet.lowering.graph.compute_rules.conversion import convert
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder

ScalarRule = Callable[..., SSAValue]
"""`rule(builder, op, *scalars)`."""


def library(name: str) -> Callable[..., FunctionOp]:
    """Return what builds a function of `hidet.arch.functions` on floats of one type."""

    def build(*values: SSAValue) -> FunctionOp:
        return FunctionOp(name, values, values[0].type)

    return build


@dataclass(frozen=True)
class ByType:
    """One operation on scalars, which depends on their type."""

    floats: Callable[..., Operation] | None = None
    integers: Callable[..., Operation] | None = None
    booleans: Callable[..., Operation] | None = None

    def __call__(self, b: GridBuilder, op: graph.GraphOp, *scalars: SSAValue) -> SSAValue:
        """Build the operation for the type of the first scalar.

        Raises:
            UnsupportedDtypeError: there is none for it.
        """
        found = scalars[0].type
        chosen = self.booleans if found == i1 else self.floats if is_float(found) else self.integers
        if chosen is None:
            raise UnsupportedDtypeError(
                f"{op.name} has no meaning on {found}", where=source_line(op)
            )
        return b.apply(chosen, *scalars)


@dataclass(frozen=True)
class Compare:
    """A comparison; the names are the predicates of `arith.cmpf` and `arith.cmpi`."""

    floats: str
    integers: str
    booleans: str

    def __call__(self, b: GridBuilder, op: Any, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Compare two scalars of one type."""
        if is_float(lhs.type):
            return b.insert(arith.CmpfOp(lhs, rhs, self.floats)).result
        predicate = self.booleans if lhs.type == i1 else self.integers
        return b.insert(arith.CmpiOp(lhs, rhs, predicate)).result


IS_EQUAL = Compare("oeq", "eq", "eq")
IS_DIFFERENT = Compare("une", "ne", "ne")
IS_LESS = Compare("olt", "slt", "ult")


def select(b: GridBuilder, condition: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Give one of two scalars."""
    return b.insert(arith.SelectOp(condition, lhs, rhs)).result


def bitwise_not(b: GridBuilder, op: Any, x: SSAValue) -> SSAValue:
    """Flip all bits."""
    return b.apply(arith.XOrIOp, x, b.constant(True if x.type == i1 else -1, x.type))


# ----------------------------------------------------------------------------- one operand


def negative(b: GridBuilder, op: Any, x: SSAValue) -> SSAValue:
    """-x."""
    if is_float(x.type):
        return b.apply(arith.NegfOp, x)
    return b.apply(arith.SubiOp, b.constant(0, x.type), x)


def sign(b: GridBuilder, op: Any, x: SSAValue) -> SSAValue:
    """1 above 0, -1 below, else 0."""
    zero = b.constant(0, x.type)
    below = select(b, IS_LESS(b, op, x, zero), b.constant(-1, x.type), zero)
    return select(b, IS_LESS(b, op, zero, x), b.constant(1, x.type), below)


def relu(b: GridBuilder, op: Any, x: SSAValue) -> SSAValue:
    """max(x, 0); NaN stays."""
    return MAXIMUM(b, op, x, b.constant(0, x.type))


def reciprocal(b: GridBuilder, op: Any, x: SSAValue) -> SSAValue:
    """1 / x."""
    return b.apply(arith.DivfOp, b.constant(1, x.type), x)


def one_plus_exp_of_negative(b: GridBuilder, x: SSAValue) -> SSAValue:
    """1 + exp(-x)."""
    power = b.apply(math.ExpOp, b.apply(arith.NegfOp, x))
    return b.apply(arith.AddfOp, power, b.constant(1, x.type))


def sigmoid(b: GridBuilder, op: Any, x: SSAValue) -> SSAValue:
    """1 / (1 + exp(-x))."""
    return reciprocal(b, op, one_plus_exp_of_negative(b, x))


def silu(b: GridBuilder, op: Any, x: SSAValue) -> SSAValue:
    """X / (1 + exp(-x))."""
    return b.apply(arith.DivfOp, x, one_plus_exp_of_negative(b, x))


def gelu(b: GridBuilder, op: graph.GeluOp, x: SSAValue) -> SSAValue:
    """X / 2 * (1 + erf(x / sqrt(2))), or with tanh(sqrt(2 / pi) * (x + 0.044715 x^3)) for erf."""
    if op.approximate.data == "none":
        inner = b.apply(math.ErfOp, b.apply(arith.MulfOp, x, b.constant(sqrt(0.5), x.type)))
    else:
        cube = b.apply(arith.MulfOp, b.apply(arith.MulfOp, x, x), x)
        correction = b.apply(arith.MulfOp, b.constant(0.044715, x.type), cube)
        argument = b.apply(arith.AddfOp, x, correction)
        scaled = b.apply(arith.MulfOp, b.constant(sqrt(2 / pi), x.type), argument)
        inner = b.apply(math.TanhOp, scaled)
    half = b.apply(arith.MulfOp, x, b.constant(0.5, x.type))
    return b.apply(arith.MulfOp, half, b.apply(arith.AddfOp, inner, b.constant(1, x.type)))


def is_nan(b: GridBuilder, op: Any, x: SSAValue) -> SSAValue:
    """Whether x is not a number."""
    return b.insert(arith.CmpfOp(x, x, "uno")).result


def is_inf(b: GridBuilder, op: Any, x: SSAValue) -> SSAValue:
    """Whether x is infinite."""
    return IS_EQUAL(b, op, b.apply(math.AbsFOp, x), b.constant(float("inf"), x.type))


def logical_not(b: GridBuilder, op: Any, x: SSAValue) -> SSAValue:
    """Whether x is 0."""
    return bitwise_not(b, op, x) if x.type == i1 else IS_EQUAL(b, op, x, b.constant(0, x.type))


def clamp(b: GridBuilder, op: graph.ClampOp, x: SSAValue) -> SSAValue:
    """min(max(x, low), high); NaN stays."""
    if op.min is not None:
        x = MAXIMUM(b, op, x, b.constant(python_number(op.min), x.type))
    if op.max is not None:
        x = MINIMUM(b, op, x, b.constant(python_number(op.max), x.type))
    return x


def cast(b: GridBuilder, op: graph.CastOp, x: SSAValue) -> SSAValue:
    """X in the type that the result is computed in."""
    return convert(b, x, computation_type(op.result_type.element_type))


# ----------------------------------------------------------------------------- several operands


def power(b: GridBuilder, op: Any, base: SSAValue, exponent: SSAValue) -> SSAValue:
    """The base to the power of the exponent; whole powers of integers wrap around."""
    return b.apply(math.PowFOp if is_float(base.type) else math.IPowIOp, base, exponent)


def fmod(b: GridBuilder, op: graph.GraphOp, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """What a division rounded towards 0 leaves."""
    return b.apply(library("fmod") if is_float(lhs.type) else arith.RemSIOp, lhs, rhs)


def rounds_down(b: GridBuilder, op: Any, rest: SSAValue, divisor: SSAValue) -> SSAValue:
    """Say whether rounding a quotient down differs from rounding it towards 0."""
    zero = b.constant(0, rest.type)
    signs_differ = b.apply(arith.XOrIOp, IS_LESS(b, op, rest, zero), IS_LESS(b, op, divisor, zero))
    return b.apply(arith.AndIOp, IS_DIFFERENT(b, op, rest, zero), signs_differ)


def remainder(b: GridBuilder, op: graph.GraphOp, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """What a division rounded down leaves, with the sign of the divisor."""
    if not is_float(lhs.type):
        return b.apply(FloorModOp, lhs, rhs)
    rest = fmod(b, op, lhs, rhs)
    return select(b, rounds_down(b, op, rest, rhs), b.apply(arith.AddfOp, rest, rhs), rest)


def floor_divide(b: GridBuilder, op: graph.GraphOp, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """The quotient rounded down; of floating-point numbers as in Python and torch.

    With rest = fmod(lhs, rhs), (lhs - rest) / rhs is a whole number but for rounding, to which it
    is snapped. Division by 0 gives infinities and NaN.
    """
    if not is_float(lhs.type):
        return b.apply(arith.FloorDivSIOp, lhs, rhs)
    zero, half, one = (b.constant(value, lhs.type) for value in (0, 0.5, 1))
    rest = fmod(b, op, lhs, rhs)
    quotient = b.apply(arith.DivfOp, b.apply(arith.SubfOp, lhs, rest), rhs)
    lower = b.apply(arith.SubfOp, quotient, one)
    quotient = select(b, rounds_down(b, op, rest, rhs), lower, quotient)
    whole = b.apply(math.FloorOp, quotient)
    too_low = IS_LESS(b, op, half, b.apply(arith.SubfOp, quotient, whole))
    whole = select(b, too_low, b.apply(arith.AddfOp, whole, one), whole)
    plain = b.apply(arith.DivfOp, lhs, rhs)
    signed_zero = b.apply(arith.MulfOp, plain, zero)
    whole = select(b, IS_EQUAL(b, op, quotient, zero), signed_zero, whole)
    return select(b, IS_EQUAL(b, op, rhs, zero), plain, whole)


def where(b: GridBuilder, op: Any, condition: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """One of two scalars."""
    return select(b, condition, lhs, rhs)


MAXIMUM = ByType(arith.MaximumfOp, arith.MaxSIOp, arith.OrIOp)
MINIMUM = ByType(arith.MinimumfOp, arith.MinSIOp, arith.AndIOp)

SCALAR_RULES: dict[type[Operation], ScalarRule] = {
    # Functions of one number.
    graph.AbsOp: ByType(math.AbsFOp, math.AbsIOp),
    graph.AcosOp: ByType(math.AcosOp),
    graph.AsinOp: ByType(math.AsinOp),
    graph.AtanOp: ByType(math.AtanOp),
    graph.BitwiseNotOp: bitwise_not,
    graph.CastOp: cast,
    graph.CeilOp: ByType(math.CeilOp),
    graph.ClampOp: clamp,
    graph.CosOp: ByType(math.CosOp),
    graph.CoshOp: ByType(math.CoshOp),
    graph.ErfOp: ByType(math.ErfOp),
    graph.ErfcOp: ByType(library("erfc")),
    graph.Exp2Op: ByType(math.Exp2Op),
    graph.ExpOp: ByType(math.ExpOp),
    graph.Expm1Op: ByType(math.ExpM1Op),
    graph.FloorOp: ByType(math.FloorOp),
    graph.GeluOp: gelu,
    graph.IsinfOp: is_inf,
    graph.IsnanOp: is_nan,
    graph.Log10Op: ByType(math.Log10Op),
    graph.Log1pOp: ByType(math.Log1pOp),
    graph.Log2Op: ByType(math.Log2Op),
    graph.LogOp: ByType(math.LogOp),
    graph.LogicalNotOp: logical_not,
    graph.NegOp: negative,
    graph.ReciprocalOp: reciprocal,
    graph.ReluOp: relu,
    graph.RoundOp: ByType(math.RoundEvenOp),
    graph.RsqrtOp: ByType(math.RsqrtOp),
    graph.SigmoidOp: sigmoid,
    graph.SignOp: sign,
    graph.SiluOp: silu,
    graph.SinOp: ByType(math.SinOp),
    graph.SinhOp: ByType(math.SinhOp),
    graph.SqrtOp: ByType(math.SqrtOp),
    graph.TanOp: ByType(math.TanOp),
    graph.TanhOp: ByType(math.TanhOp),
    graph.TruncOp: ByType(math.TruncOp),
    # Functions of two.
    graph.AddOp: ByType(arith.AddfOp, arith.AddiOp, arith.OrIOp),
    graph.Atan2Op: ByType(math.Atan2Op),
    graph.BitwiseAndOp: ByType(None, arith.AndIOp, arith.AndIOp),
    graph.BitwiseOrOp: ByType(None, arith.OrIOp, arith.OrIOp),
    graph.BitwiseXorOp: ByType(None, arith.XOrIOp, arith.XOrIOp),
    graph.DivOp: ByType(arith.DivfOp),
    graph.FloorDivideOp: floor_divide,
    graph.FmodOp: fmod,
    graph.MaximumOp: MAXIMUM,
    graph.MinimumOp: MINIMUM,
    graph.MulOp: ByType(arith.MulfOp, arith.MuliOp, arith.AndIOp),
    graph.PowOp: power,
    graph.RemainderOp: remainder,
    graph.SubOp: ByType(arith.SubfOp, arith.SubiOp),
    # Comparisons.
    graph.EqOp: IS_EQUAL,
    graph.NeOp: IS_DIFFERENT,
    graph.LtOp: IS_LESS,
    graph.LeOp: Compare("ole", "sle", "ule"),
    graph.GtOp: Compare("ogt", "sgt", "ugt"),
    graph.GeOp: Compare("oge", "sge", "uge"),
    # Selection.
    graph.WhereOp: where,
}
