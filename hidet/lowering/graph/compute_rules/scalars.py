"""Rules of elementwise operators: a grid that applies a scalar rule in the computation type.

A scalar rule is called with the builder, the operation (for its properties) and a scalar per
operand, and returns a scalar. Floating-point rules follow torch's formulas, including infinities
and NaN; approximate functions are used if the result is rounded to 16 bits. The rules of checked
integers return the integer itself, or a valid one and an error.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import e, log2, pi, sqrt
from typing import Any

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IndexType, StringAttr, i1, i32, i64
from xdsl.ir import Operation, SSAValue

from hidet.dialects import graph
from hidet.dialects.cuda.arithmetic import FloorModOp, FunctionOp
from hidet.dialects.cuda.checks import CheckedDivisorOp, CheckedIndexOp
from hidet.dialects.graph.base import GraphOp, computation_type, element_type, is_float, shape_of
from hidet.dialects.graph.elementwise import Elementwise
from hidet.dialects.graph.shape import is_argument
from hidet.dialects.locations import source_line
from hidet.errors import UnsupportedDtypeError
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder, Indices, convert
from hidet.lowering.single_walk import Rule

ScalarRule = Callable[..., SSAValue]
"""`rule(builder, op, *scalars)`."""


def apply_scalar_op(
    chosen: type[Operation], b: GridBuilder, op: Any, *scalars: SSAValue
) -> SSAValue:
    """Build the scalar op of an elementwise operator for the type of the first operand."""
    trait = chosen.get_trait(Elementwise)
    scalar_op = None if trait is None else trait.scalar_op(scalars[0].type)
    if scalar_op is None:
        raise UnsupportedDtypeError(
            f"{op.name} is not defined for {scalars[0].type}", where=source_line(op)
        )
    return b.apply(scalar_op, *scalars)


IS_EQUAL = partial(apply_scalar_op, graph.EqOp)
IS_DIFFERENT = partial(apply_scalar_op, graph.NeOp)
IS_LESS = partial(apply_scalar_op, graph.LtOp)
MAXIMUM = partial(apply_scalar_op, graph.MaximumOp)
FMOD = partial(apply_scalar_op, graph.FmodOp)


def select(b: GridBuilder, condition: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Return one of two scalars by a condition."""
    return b.insert(arith.SelectOp(condition, lhs, rhs)).result


def bitwise_not(b: GridBuilder, op: Any, x: SSAValue) -> SSAValue:
    """The bitwise complement."""
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
    if is_rounded(op, x):
        return fast_sigmoid(b, x, (log2(e),))
    return reciprocal(b, op, one_plus_exp_of_negative(b, x))


def silu(b: GridBuilder, op: Any, x: SSAValue) -> SSAValue:
    """X / (1 + exp(-x))."""
    if is_rounded(op, x):
        return b.apply(arith.MulfOp, x, fast_sigmoid(b, x, (log2(e),)))
    return b.apply(arith.DivfOp, x, one_plus_exp_of_negative(b, x))


def is_rounded(op: Any, x: SSAValue) -> bool:
    """Return whether a result is rounded to 16 bits, so that fast functions are exact enough."""
    return op.result_type.element_type != x.type


def fast_sigmoid(b: GridBuilder, x: SSAValue, logits: Sequence[float]) -> SSAValue:
    """1 / (1 + 2^(-x g(x^2))), with the coefficients of g."""
    *rest, total = (b.constant(-each, x.type) for each in logits)
    square = b.apply(arith.MulfOp, x, x) if rest else x
    for each in reversed(rest):
        total = b.apply(arith.AddfOp, b.apply(arith.MulfOp, total, square), each)
    exponent = b.apply(arith.MulfOp, x, total)
    power = b.insert(FunctionOp("fast_exp2", [exponent], x.type)).result
    below = b.apply(arith.AddfOp, power, b.constant(1, x.type))
    return b.insert(FunctionOp("fast_rcp", [below], x.type)).result


CDF_LOGITS = (
    *(2.30208278, 0.105045192, -1.97885747e-4, -1.37688796e-4),
    *(9.25208951e-6, -2.80679444e-7, 3.36455064e-9),
)
"""The coefficients of g such that 1 / (1 + 2^(-x g(x^2))) is the normal CDF of x.

A weighted minimax fit for |x| < 5.5; beyond, the CDF is 0 or 1 in f16. x times the CDF, rounded to
f16, is within 0.74 units in the last place of GELU; with erf in f32, cancellation costs 5.8.
"""

TANH_LOGITS = tuple(2 * sqrt(2 / pi) * log2(e) * factor for factor in (1, 0.044715))
"""The coefficients with which the same is (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2."""


def gelu(b: GridBuilder, op: graph.GeluOp, x: SSAValue) -> SSAValue:
    """X / 2 * (1 + erf(x / sqrt(2))), or with tanh(sqrt(2 / pi) * (x + 0.044715 x^3)) for erf.

    Results that are rounded to 16 bits are computed as x times a logistic function, which takes
    half of the instructions: in epilogues of matmuls, tensor cores wait for them.
    """
    is_exact = op.approximate.data == "none"
    if is_rounded(op, x):
        logits = CDF_LOGITS if is_exact else TANH_LOGITS
        return b.apply(arith.MulfOp, x, fast_sigmoid(b, x, logits))
    if is_exact:
        inner = b.apply(math.ErfOp, b.apply(arith.MulfOp, x, b.constant(sqrt(0.5), x.type)))
    else:
        cube = b.apply(arith.MulfOp, b.apply(arith.MulfOp, x, x), x)
        correction = b.apply(arith.MulfOp, b.constant(0.044715, x.type), cube)
        argument = b.apply(arith.AddfOp, x, correction)
        scaled = b.apply(arith.MulfOp, b.constant(sqrt(2 / pi), x.type), argument)
        inner = b.apply(math.TanhOp, scaled)
    half = b.apply(arith.MulfOp, x, b.constant(0.5, x.type))
    return b.apply(arith.MulfOp, half, b.apply(arith.AddfOp, inner, b.constant(1, x.type)))


def cast(b: GridBuilder, op: graph.CastOp, x: SSAValue) -> SSAValue:
    """X in the type that the result is computed in."""
    return convert(b, x, computation_type(op.result_type.element_type))


def bitcast(b: GridBuilder, op: graph.BitcastOp, x: SSAValue) -> SSAValue:
    """The bits of X, which is narrowed to its own type again."""
    narrow = b.narrow(x, op.x_type.element_type)
    return b.insert(arith.BitcastOp(narrow, op.result_type.element_type)).result


# ----------------------------------------------------------------------------- several operands


def rounds_down(b: GridBuilder, op: Any, rest: SSAValue, divisor: SSAValue) -> SSAValue:
    """Return whether floor division differs from truncating division."""
    zero = b.constant(0, rest.type)
    signs_differ = b.apply(arith.XOrIOp, IS_LESS(b, op, rest, zero), IS_LESS(b, op, divisor, zero))
    return b.apply(arith.AndIOp, IS_DIFFERENT(b, op, rest, zero), signs_differ)


def remainder(b: GridBuilder, op: graph.GraphOp, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """The remainder of floor division, with the sign of the divisor."""
    if not is_float(lhs.type):
        return b.apply(FloorModOp, lhs, rhs)
    rest = FMOD(b, op, lhs, rhs)
    return select(b, rounds_down(b, op, rest, rhs), b.apply(arith.AddfOp, rest, rhs), rest)


def floor_divide(b: GridBuilder, op: graph.GraphOp, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Floor division; of floating-point numbers as in Python and torch.

    With rest = fmod(lhs, rhs), (lhs - rest) / rhs is an integer up to rounding, and is snapped to
    it. Division by 0 yields infinities and NaN.
    """
    if not is_float(lhs.type):
        return b.apply(arith.FloorDivSIOp, lhs, rhs)
    zero, half, one = (b.constant(value, lhs.type) for value in (0, 0.5, 1))
    rest = FMOD(b, op, lhs, rhs)
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


SCALAR_RULES: dict[type[Operation], ScalarRule] = {
    **{
        op: partial(apply_scalar_op, op)
        for op in graph.Graph.operations
        if op.has_trait(Elementwise)
    },
    # Operators of several scalar ops.
    graph.BitcastOp: bitcast,
    graph.BitwiseNotOp: bitwise_not,
    graph.CastOp: cast,
    graph.GeluOp: gelu,
    graph.NegOp: negative,
    graph.ReciprocalOp: reciprocal,
    graph.ReluOp: relu,
    graph.SigmoidOp: sigmoid,
    graph.SignOp: sign,
    graph.SiluOp: silu,
    graph.FloorDivideOp: floor_divide,
    graph.RemainderOp: remainder,
    graph.WhereOp: where,
}
"""The scalar rule of every elementwise operator, by the type of its first operand."""


def elementwise(rule: ScalarRule, b: GridBuilder, op: GraphOp) -> SSAValue:
    """A grid over the result; operands are broadcast, each is loaded once."""
    return b.result_of(op, partial(scalar_of, rule, b, op))


def scalar_of(rule: ScalarRule, b: GridBuilder, op: GraphOp, indices: Indices) -> SSAValue:
    """Build an element of the result; what the operator continues is computed in place."""
    chain = [op]
    while (producer := continued(chain[-1])) is not None:
        chain.append(producer)
    known: dict[SSAValue, SSAValue] = {}
    for producer in reversed(chain[1:]):
        with b.located_like(producer):
            scalar = apply_rule(SCALAR_RULES[type(producer)], b, producer, indices, known)
            scalar = b.narrow(scalar, producer.result_type.element_type)
            scalar.name_hint = scalar.name_hint or producer.result.name_hint
            known = {producer.result: b.widen(scalar)}
    return apply_rule(rule, b, op, indices, known)


def apply_rule(
    rule: ScalarRule,
    b: GridBuilder,
    op: GraphOp,
    indices: Indices,
    known: Mapping[SSAValue, SSAValue],
) -> SSAValue:
    """Apply a scalar rule to elements of the operands, which are loaded unless they are known."""
    operands = dict.fromkeys(op.operands)
    scalars = {x: known[x] if x in known else b.read_broadcast(x, indices) for x in operands}
    return rule(b, op, *(scalars[x] for x in op.operands))


def continued(op: GraphOp) -> GraphOp | None:
    """Return the elementwise producer that an elementwise operator continues, if there is one.

    Nothing else reads it, and all other operands are smaller or constant, so that both would be in
    one kernel anyway.
    """
    shape = op.result_type.get_shape()
    large = {x for x in op.operands if shape_of(x) == shape and not is_constant(x)}
    if len(large) != 1 or not (x := large.pop()).has_one_use():
        return None
    return x.owner if isinstance(x.owner, GraphOp) and type(x.owner) in SCALAR_RULES else None


def is_constant(x: SSAValue) -> bool:
    """Return whether a tensor is a constant, in any type."""
    owner = x.owner
    while isinstance(owner, graph.CastOp):
        owner = owner.x.owner
    return isinstance(owner, graph.ConstantOp | graph.FillOp)


# ----------------------------------------------------------------------------- checked integers


def checked_positions(
    checks: bool, on_cpu: bool, b: GridBuilder, op: graph.CheckedPositionsOp, x: SSAValue
) -> SSAValue:
    """x, normalized and checked to be in bounds; on the CPU ahead of the kernel, if it can be."""
    size, from_end = op.size.value.data, op.from_end is not None
    if not checks:
        if not from_end:
            return x
        moved = b.apply(arith.AddiOp, x, b.constant(size, x.type))
        return select(b, IS_LESS(b, op, x, b.constant(0, x.type)), moved, x)
    index = b.insert(arith.IndexCastOp(x, IndexType())).result
    can_be_ahead = not from_end and is_argument(op.x) and element_type(op.x) in (i32, i64)
    checked = CheckedIndexOp(
        index,
        size,
        named(op, op.operator),
        from_end=from_end,
        ahead=on_cpu and can_be_ahead,
    )
    return b.insert(arith.IndexCastOp(b.insert(checked).result, x.type)).result


def checked_divisor(
    checks: bool, on_cpu: bool, b: GridBuilder, op: graph.CheckedDivisorOp, x: SSAValue
) -> SSAValue:
    """x, checked to be non-zero."""
    if not checks:
        return x
    return b.insert(CheckedDivisorOp(x, named(op, op.operator))).result


def named(op: graph.GraphOp, operator: StringAttr) -> str:
    """Return the name of an operator and its source line, for errors."""
    line = source_line(op)
    return operator.data if line is None else f"{operator.data} ({line})"


def checked_rules(*, checks: bool, on_cpu: bool) -> dict[type[Operation], Rule[GridBuilder]]:
    """Return the rules of checked integers, with or without checks, for a target."""
    scalar_rules = {
        graph.CheckedDivisorOp: checked_divisor,
        graph.CheckedPositionsOp: checked_positions,
    }
    return {
        kind: partial(elementwise, partial(rule, checks, on_cpu))
        for kind, rule in scalar_rules.items()
    }


RULES: dict[type[Operation], Rule[GridBuilder]] = {
    kind: partial(elementwise, rule) for kind, rule in SCALAR_RULES.items()
}
