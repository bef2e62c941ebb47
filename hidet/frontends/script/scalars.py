"""Run-time scalars: constants, conversions, operators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import NoReturn, TypeAlias, cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Block, Region, SSAValue

from hidet.analysis.conditions import OPPOSITES, predicate_of
from hidet.errors import ScriptError
from hidet.frontends.script.messages import Value, describe
from hidet.frontends.script.operators import (
    ARITHMETIC,
    COMPARISONS,
    FUNCTIONS,
    HINTS,
    conversion_path,
)
from hidet.frontends.script.tracing import current, insert
from hidet.frontends.script.types import (
    BOOL,
    F32,
    I32,
    INDEX,
    U32,
    ScalarType,
    common_type,
    plain_number,
)
from hidet.rewriting.builder import integer_type

_Operator: TypeAlias = "Callable[[object, object], Scalar]"


def operators(symbol: str) -> tuple[_Operator, _Operator]:
    """Return a binary operator's method and its reflected method."""

    def on_the_left(self: object, other: object) -> Scalar:
        return binary(symbol, self, other)

    def on_the_right(self: object, other: object) -> Scalar:
        return binary(symbol, other, self)

    return on_the_left, on_the_right


def _refused(what: str, hint: str) -> Callable[[Scalar], NoReturn]:
    """Return the method for a conversion to a Python value, which raises."""

    def convert(self: Scalar) -> NoReturn:
        text = f"Python needs {what} here, but this {self.type} is known only at run time"
        raise ScriptError(text, hint=hint)

    return convert


class Scalar(Value):
    """A scalar value of the kernel; operators on it build IR."""

    __slots__ = ("ssa", "type")
    __hash__ = None  # pyright: ignore[reportAssignmentType]  # `==` makes IR
    __array_ufunc__ = None  # numbers of numpy leave operators to us

    def __init__(self, ssa: SSAValue, kind: ScalarType) -> None:
        self.ssa = ssa
        self.type = kind

    __add__, __radd__ = operators("+")
    __sub__, __rsub__ = operators("-")
    __mul__, __rmul__ = operators("*")
    __truediv__, __rtruediv__ = operators("/")
    __floordiv__, __rfloordiv__ = operators("//")
    __mod__, __rmod__ = operators("%")
    __pow__, __rpow__ = operators("**")
    __lshift__, __rlshift__ = operators("<<")
    __rshift__, __rrshift__ = operators(">>")
    __and__, __rand__ = operators("&")
    __or__, __ror__ = operators("|")
    __xor__, __rxor__ = operators("^")
    __lt__ = operators("<")[0]
    __le__ = operators("<=")[0]
    __gt__ = operators(">")[0]
    __ge__ = operators(">=")[0]
    __eq__ = operators("==")[0]  # pyright: ignore[reportAssignmentType]
    __ne__ = operators("!=")[0]  # pyright: ignore[reportAssignmentType]

    def __neg__(self) -> Scalar:
        return unary("-", self)

    def __pos__(self) -> Scalar:
        return self

    def __invert__(self) -> Scalar:
        return unary("~", self)

    def __abs__(self) -> Scalar:
        return unary("abs", self)

    __bool__ = _refused("a condition", "write the branch in the script, or as `a if c else b`")
    __index__ = _refused("an integer", "use a compile-time constant")
    __float__ = _refused("a number", "call functions of hidet.lang.math, also in Python functions")

    def __iter__(self) -> NoReturn:
        raise ScriptError(f"a scalar of type {self.type} is not iterable")

    def __getitem__(self, index: object) -> NoReturn:
        raise ScriptError(f"a value of type {self.type} has no elements")

    def __divmod__(self, other: object) -> tuple[Scalar, Scalar]:
        return binary("//", self, other), binary("%", self, other)

    def __rdivmod__(self, other: object) -> tuple[Scalar, Scalar]:
        return binary("//", other, self), binary("%", other, self)

    def __repr__(self) -> str:
        return f"a value of type {self.type}"


Index: TypeAlias = Scalar | int
"""An index, known at compile time or at run time."""

Arm: TypeAlias = tuple[Block, Scalar]
"""An arm of a branch, with its value."""


def is_number(value: object) -> bool:
    """Return whether a Python value is a number that can become a scalar."""
    return isinstance(value, bool | int | float)


def is_integer(value: object) -> bool:
    """Return whether a value is an integer, at compile time or at run time."""
    if isinstance(value, Scalar):
        return value.type.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


# Numbers and conversions.


def constant(value: float, kind: ScalarType) -> Scalar:
    """Return a constant of a type.

    Raises:
        ScriptError: the type cannot represent the number.
    """
    if kind.is_float:
        try:
            attribute = FloatAttr(float(value), kind.ir)  # pyright: ignore[reportArgumentType, reportUnknownVariableType, reportCallIssue]
        except OverflowError as error:
            raise ScriptError(
                f"the number {value} does not fit {kind}, up to {kind.max_value}",
                hint="infinity is math.inf",
            ) from error
        op = arith.ConstantOp(attribute)  # pyright: ignore[reportUnknownArgumentType]
        return Scalar(insert(op).result, kind)
    low, high = kind.limits
    if not low <= value <= high:
        raise ScriptError(f"the number {value} does not fit {kind}, from {low} to {high}")
    # IntegerAttr takes signed values.
    number = int(value)
    if kind.kind == "unsigned" and number > high // 2:
        number -= high + 1
    attribute = IntegerAttr(number, integer_type(kind.ir))
    return Scalar(insert(arith.ConstantOp(attribute)).result, kind)


def scalar_of(value: object, kind: ScalarType | None = None) -> Scalar:
    """Return a value as a scalar; a Python number gets `kind`, or else its default type."""
    if isinstance(value, Scalar):
        return value
    value = plain_number(value)
    if not isinstance(value, bool | int | float):
        raise ScriptError(
            f"{describe(value)} is not a number",
            hint="a scalar, or a compile-time number",
        )
    if isinstance(value, bool):
        return constant(value, kind or BOOL)
    if isinstance(value, int):
        return constant(value, I32 if kind is None or kind is BOOL else kind)
    return constant(value, kind if kind is not None and kind.is_float else F32)


def convert(value: object, target: ScalarType) -> Scalar:
    """Convert a scalar or a number to a type as C does; to `bool` by comparison with zero."""
    scalar = scalar_of(value, target)
    if scalar.type == target:
        return scalar
    owner = scalar.ssa.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        number = owner.value.value.data
        if (target.is_float or target.kind in ("signed", "index")) and (
            scalar.type.kind in ("signed", "index")
            and (target.is_float or target.limits[0] <= number <= target.limits[1])
        ):
            return constant(number, target)
    if target.kind == "bool":
        return binary("!=", scalar, 0)
    result = scalar.ssa
    for make, kind in conversion_path(scalar.type, target):
        result = insert(make(result, kind.ir)).results[0]
    return Scalar(result, target)


def as_index(value: object) -> Index:
    """Return an index as an int or as a scalar of type index."""
    value = plain_number(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return convert(scalar_of(value), INDEX)


def index_of(value: object) -> SSAValue:
    """Return an index or an integer as an IR value of type index."""
    if isinstance(value, SSAValue):
        return cast("SSAValue", value)
    known = as_index(value)
    return known.ssa if isinstance(known, Scalar) else current().index(known)


# Operators.


def _kind_of(values: tuple[object, ...]) -> ScalarType:
    """Return the type that two operands are promoted to; Python numbers adapt."""
    types = _types_of(values)
    kind = reduce(common_type, types) if types else None
    for value in values:
        if isinstance(value, Scalar):
            continue
        if isinstance(value, float) and (kind is None or not kind.is_float):
            kind = F32
        elif kind is None or (kind is BOOL and not isinstance(value, bool)):
            kind = BOOL if isinstance(value, bool) else I32
    assert kind is not None
    return kind


def common_kind(one: object, other: object) -> ScalarType:
    """Return the type that two alternatives are promoted to; Python numbers adapt."""
    for value in (one, other):
        if not isinstance(value, Scalar) and not is_number(value):
            raise ScriptError(f"{describe(value)} is not a number")
    return _kind_of((one, other))


def binary(name: str, lhs: object, rhs: object) -> Scalar:
    """Compute a binary operator or a comparison; of vectors elementwise.

    As in C, integers narrower than 32 bits are computed in 32 bits.
    """
    from hidet.frontends.script.vectors import Vector, elementwise

    lhs, rhs = plain_number(lhs), plain_number(rhs)
    if isinstance(lhs, Vector) or isinstance(rhs, Vector):  # it has the operators of a scalar
        return cast("Scalar", elementwise(name, partial(binary, name), lhs, rhs))
    for operand in (lhs, rhs):
        if not isinstance(operand, Scalar) and not is_number(operand):
            raise ScriptError(
                f"'{name}' takes numbers and scalars, not {describe(operand)}",
                hint="of a tensor it takes elements: x[i]",
            )
    if name == "**" and isinstance(rhs, int) and rhs == 2:
        base = scalar_of(lhs)
        return binary("*", base, base)
    kind = _kind_of((lhs, rhs))
    if kind.is_integer and kind.bits < 32:
        kind = I32
    if kind is INDEX and name in _WRAPPING and U32 in _types_of((lhs, rhs)):
        kind = U32
    left, right = convert(lhs, kind), convert(rhs, kind)
    if name in COMPARISONS:
        return _compare(name, left, right)
    if name in ("+", "-", "*", "max", "min", "//", "%") and kind is BOOL:
        left, right, kind = convert(left, I32), convert(right, I32), I32
    return _compute(name, left, right, kind)


_WRAPPING = frozenset(["+", "-", "*", "&", "|", "^", "<<", ">>"])
"""Operators modulo 2**32: a u32 and an index give a u32, as in C."""


def _types_of(values: tuple[object, ...]) -> list[ScalarType]:
    return [value.type for value in values if isinstance(value, Scalar)]


def _compute(name: str, left: Scalar, right: Scalar, kind: ScalarType) -> Scalar:
    """Compute an operator of operands of one type; 16-bit floats in `f32`."""
    make = ARITHMETIC[name].get(kind.kind)
    if make is None:
        raise ScriptError(
            f"there is no '{name}' of {kind}",
            hint=HINTS.get(name, "the operator does not take operands of this type"),
        )
    if kind.is_float and kind.bits == 16:
        wide = _compute(name, convert(left, F32), convert(right, F32), F32)
        return convert(wide, kind)
    return Scalar(insert(make(left.ssa, right.ssa)).results[0], kind)


def _compare(name: str, left: Scalar, right: Scalar) -> Scalar:
    kind, predicate = left.type, COMPARISONS[name]
    if kind.is_float:
        if kind.bits == 16:
            left, right = convert(left, F32), convert(right, F32)
        order = "u" if predicate == "ne" else "o"
        op = arith.CmpfOp(left.ssa, right.ssa, order + predicate)
    else:
        sign = "u" if kind.kind in ("unsigned", "bool") else "s"
        is_signless = predicate in ("eq", "ne")
        op = arith.CmpiOp(left.ssa, right.ssa, predicate if is_signless else sign + predicate)
    return Scalar(insert(op).result, BOOL)


def unary(name: str, operand: Scalar) -> Scalar:
    """Compute `-x`, `~x`, `not x` or `abs(x)`."""
    kind = operand.type
    if name == "not":
        return binary("^", convert(operand, BOOL), True)
    if name == "~":
        is_word = kind.kind == "unsigned" and kind.bits >= 32
        all_bits = True if kind is BOOL else kind.limits[1] if is_word else -1
        return binary("^", operand, all_bits)
    if kind.is_float:
        wide = convert(operand, F32) if kind.bits == 16 else operand
        make = arith.NegfOp if name == "-" else FUNCTIONS["abs"]
        return convert(Scalar(insert(make(wide.ssa)).results[0], wide.type), kind)
    if name == "-":
        return binary("-", 0, operand)
    return binary("max", operand, binary("-", 0, operand))


def negated(condition: Scalar) -> Scalar:
    """Return the negation of a condition, of an integer comparison as the opposite comparison."""
    op = condition.ssa.owner
    if not isinstance(op, arith.CmpiOp):
        return unary("not", condition)
    return Scalar(insert(arith.CmpiOp(op.lhs, op.rhs, OPPOSITES[predicate_of(op)])).result, BOOL)


def select(condition: Scalar, one: object, other: object) -> Scalar:
    """Return one of two values, both of which are computed."""
    kind = common_kind(one, other)
    left, right = convert(one, kind), convert(other, kind)
    op = arith.SelectOp(convert(condition, BOOL).ssa, left.ssa, right.ssa)
    return Scalar(insert(op).result, kind)


def branch_of(condition: Scalar, then: Arm, otherwise: Arm) -> Scalar:
    """Insert a branch with a result, whose arms have values of one type."""
    for block, value in (then, otherwise):
        current().finish_arm(block, [value.ssa])
    kind = then[1].type
    op = insert(scf.IfOp(condition.ssa, [kind.ir], Region(then[0]), Region(otherwise[0])))
    return Scalar(op.results[0], kind)
