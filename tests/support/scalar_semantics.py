"""The semantics of scalar operations of arith and math, on numpy arrays; integers wrap around."""

import math as python_math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    i1,
)
from xdsl.ir import Attribute, Operation

from hidet.dialects.compute import ReduceKind
from hidet.dialects.cuda.arithmetic import FloorModOp, FunctionOp
from hidet.dialects.cuda.checks import CheckedDivisorOp, CheckedIndexOp
from hidet.errors import DivisionByZeroError, IndexOutOfRangeError

Array: TypeAlias = NDArray[Any]
Meaning: TypeAlias = Callable[..., Array]

_INTEGERS = {1: np.bool_, 8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
_FLOATS: dict[type[Attribute], type[np.floating[Any]]] = {
    Float64Type: np.float64,
    Float32Type: np.float32,
    Float16Type: np.float16,
    BFloat16Type: np.float32,
}


def numpy_type(element: Attribute) -> np.dtype[Any]:
    """Return the numpy type of an element type; float32 for bf16.

    Raises:
        KeyError: there is none.
    """
    if isinstance(element, IndexType):
        return np.dtype(np.int64)
    if isinstance(element, IntegerType):
        return np.dtype(_INTEGERS[element.width.data])
    return np.dtype(_FLOATS[type(element)])


def converted(values: Array, element: Attribute) -> Array:
    """Convert to an element type; round floats to the nearest, ties to even."""
    if not isinstance(element, BFloat16Type):
        return values.astype(numpy_type(element))
    single = np.asarray(values, np.float32)
    bits = single.view(np.uint32).astype(np.uint64)
    even = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return np.where(np.isnan(single), single, even.astype(np.uint32).view(np.float32))


def neutral(kind: ReduceKind, element: Attribute) -> Array:
    """Return the initial value of a reduction."""
    dtype = numpy_type(element)
    if kind in (ReduceKind.ADD, ReduceKind.MUL):
        return np.asarray(kind is ReduceKind.MUL, dtype)
    if dtype.kind == "f":
        return np.asarray(-np.inf if kind is ReduceKind.MAX else np.inf, dtype)
    if dtype.kind == "b":
        return np.asarray(kind is ReduceKind.MIN)
    limits = np.iinfo(dtype)
    return np.asarray(limits.min if kind is ReduceKind.MAX else limits.max, dtype)


def combine(kind: ReduceKind, lhs: Array, rhs: Array) -> Array:
    """Combine two values as a reduction does; on booleans, add is "or" and mul is "and"."""
    meanings = {
        ReduceKind.ADD: np.add,
        ReduceKind.MUL: np.multiply,
        ReduceKind.MAX: np.maximum,
        ReduceKind.MIN: np.minimum,
    }
    return meanings[kind](lhs, rhs)


def _constant(op: arith.ConstantOp) -> Array:
    assert isinstance(op.value, FloatAttr | IntegerAttr)
    return np.asarray(op.value.value.data).astype(numpy_type(op.result.type))


def _float_comparison(op: arith.CmpfOp, lhs: Array, rhs: Array) -> Array:
    predicate = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    if predicate in ("false", "true"):
        return np.full(lhs.shape, predicate == "true")
    unordered = np.isnan(lhs) | np.isnan(rhs)
    if predicate in ("ord", "uno"):
        return unordered if predicate == "uno" else ~unordered
    found = _COMPARISONS[predicate[1:]](lhs, rhs)
    return found | unordered if predicate[0] == "u" else found & ~unordered


def _integer_comparison(op: arith.CmpiOp, lhs: Array, rhs: Array) -> Array:
    predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    if predicate[0] == "u" and lhs.dtype.kind == "i":
        unsigned = np.dtype(f"u{lhs.dtype.itemsize}")
        lhs, rhs = lhs.astype(unsigned), rhs.astype(unsigned)
    if predicate[0] == "s" and lhs.dtype == bool:  # as a signed number of one bit, true is -1
        lhs, rhs = -lhs.astype(np.int8), -rhs.astype(np.int8)
    return _COMPARISONS[predicate[-2:]](lhs, rhs)


_COMPARISONS: Mapping[str, Meaning] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def _integer_division(divide: Meaning, *, leaves: bool = False) -> Meaning:
    """Return the semantics of an integer division, which does not trap.

    x / 0 has all bits set, and x % 0 is x. The smallest integer divided by -1 wraps around.
    """

    def meaning(op: Operation, lhs: Array, rhs: Array) -> Array:
        is_zero = rhs == 0
        with np.errstate(over="ignore"):
            found = divide(lhs, np.where(is_zero, np.ones_like(rhs), rhs))
        return np.where(is_zero, lhs if leaves else np.full_like(lhs, -1), found)

    return meaning


def _quotient(lhs: Array, rhs: Array) -> Array:
    """Divide integers, rounding towards 0."""
    down = np.floor_divide(lhs, rhs)
    return down + ((down * rhs != lhs) & ((lhs < 0) != (rhs < 0)))


def _saturated(op: Operation, x: Array) -> Array:
    """Convert floats to integers, towards 0, saturating, and 0 for NaN."""
    target = numpy_type(op.results[0].type)
    limits = np.iinfo(target)
    whole = np.trunc(np.where(np.isnan(x), 0, x).astype(np.float64))
    inside = (whole > limits.min) & (whole < limits.max)
    found = np.where(inside, whole, 0).astype(target)
    edge = np.where(whole < 0, np.asarray(limits.min, target), np.asarray(limits.max, target))
    return np.where(inside, found, edge)


def _whole_power(op: Operation, base: Array, exponent: Array) -> Array:
    """Compute integer powers that wrap around; negative ones of 1 and -1 are exact, others 0."""
    power = np.power(base, np.maximum(exponent, 0))
    negative = np.where(np.abs(base) == 1, np.power(base, np.abs(exponent) % 2), 0)
    return np.where(exponent < 0, negative, power).astype(base.dtype)


def _converted(op: Operation, x: Array) -> Array:
    """Convert to the type of the result; a signed i1 is 0 or -1, and the lowest bit of others."""
    if op.results[0].type == i1:
        return (x & 1).astype(bool)
    found = converted(x, op.results[0].type)
    return -found if x.dtype == bool else found


def _elementwise(function: Meaning, _: Operation, *operands: Array) -> Array:
    """Apply a function that depends on the operands alone."""
    return function(*operands)


def _unsigned(function: Meaning, op: Operation, *operands: Array) -> Array:
    """Apply a function to unsigned numbers."""
    views = [x if x.dtype == bool else x.view(f"u{x.dtype.itemsize}") for x in operands]
    return converted(function(*views), op.results[0].type)


def _multiply_add(x: Array, y: Array, z: Array) -> Array:
    return x * y + z


def _inverse_root(x: Array) -> Array:
    return np.asarray(1, x.dtype) / np.sqrt(x)


def _in_doubles(function: Callable[..., float], *values: Array) -> Array:
    """Call a function on Python numbers, in float64."""
    vectorized = np.vectorize(function, otypes=[np.float64])
    found = vectorized(*(value.astype(np.float64) for value in values))
    return np.asarray(found).astype(values[0].dtype)


def _function(op: FunctionOp, *values: Array) -> Array:
    return _in_doubles(op.instruction.meaning, *values)


def _checked_index(op: CheckedIndexOp, index: Array) -> Array:
    """Normalize negative indices; raise an error if one is out of bounds."""
    size = op.size.value.data
    position = index if op.from_end is None else np.where(index < 0, index + size, index)
    if np.any((position < 0) | (position >= size)):
        raise IndexOutOfRangeError(f"an index is not below {size}", where=op.where.data)
    return position


def _checked_divisor(op: CheckedDivisorOp, divisor: Array) -> Array:
    """Return divisors; raise an error if one is 0."""
    if np.any(divisor == 0):
        raise DivisionByZeroError("an integer is divided by zero", where=op.where.data)
    return divisor


def _extreme(beats: np.ufunc, a: Array, b: Array) -> Array:
    """Select the better number, or NaN; the first of two zeros, where numpy selects either."""
    return np.where(beats(b, a) | np.isnan(b), b, a)


def _extreme_number(beats: np.ufunc, a: Array, b: Array) -> Array:
    """Select the better number rather than NaN; the second of two zeros."""
    return np.where(beats(a, b) | np.isnan(b), a, b)


_PLAIN: dict[type[Operation], Meaning] = {
    arith.AddfOp: np.add,
    arith.AddiOp: np.add,
    arith.AndIOp: np.bitwise_and,
    arith.DivfOp: np.divide,
    arith.MaxSIOp: np.maximum,
    arith.MaximumfOp: partial(_extreme, np.greater),
    arith.MaxnumfOp: partial(_extreme_number, np.greater),
    arith.MinSIOp: np.minimum,
    arith.MinimumfOp: partial(_extreme, np.less),
    arith.MinnumfOp: partial(_extreme_number, np.less),
    arith.MulfOp: np.multiply,
    arith.MuliOp: np.multiply,
    arith.NegfOp: np.negative,
    arith.OrIOp: np.bitwise_or,
    arith.SelectOp: np.where,
    arith.ShLIOp: np.left_shift,  # by any number, as `shift_left` of the device header
    arith.ShRSIOp: np.right_shift,
    arith.SubfOp: np.subtract,
    arith.SubiOp: np.subtract,
    arith.XOrIOp: np.bitwise_xor,
    math.AbsFOp: np.abs,
    math.AbsIOp: np.abs,
    math.ErfOp: partial(_in_doubles, python_math.erf),
    math.FmaOp: _multiply_add,
    math.PowFOp: np.power,
    math.RoundEvenOp: np.rint,
    math.RsqrtOp: _inverse_root,
    # numpy has most functions by the names of the dialect; its `round` is another one.
    **{
        op: getattr(np, op.name[5:])
        for op in math.Math.operations
        if op is not math.RoundOp
        if hasattr(np, op.name[5:])
    },
}

SCALARS: Mapping[type[Operation], Meaning] = {
    **{kind: partial(_elementwise, function) for kind, function in _PLAIN.items()},
    arith.BitcastOp: lambda op, x: x.view(numpy_type(op.results[0].type)),
    arith.CmpfOp: _float_comparison,
    arith.CmpiOp: _integer_comparison,
    arith.ConstantOp: _constant,
    arith.DivSIOp: _integer_division(_quotient),
    arith.DivUIOp: partial(_unsigned, np.floor_divide),
    arith.ExtFOp: _converted,
    arith.ExtSIOp: _converted,
    arith.ExtUIOp: partial(_unsigned, np.asarray),
    arith.FloorDivSIOp: _integer_division(np.floor_divide),
    arith.FPToSIOp: _saturated,
    arith.IndexCastOp: _converted,
    arith.MaxUIOp: partial(_unsigned, np.maximum),
    arith.MinUIOp: partial(_unsigned, np.minimum),
    arith.RemSIOp: _integer_division(np.fmod, leaves=True),
    arith.RemUIOp: partial(_unsigned, np.remainder),
    arith.ShRUIOp: partial(_unsigned, np.right_shift),
    arith.SIToFPOp: _converted,
    arith.TruncFOp: _converted,
    arith.TruncIOp: _converted,
    arith.UIToFPOp: partial(_unsigned, np.asarray),
    FloorModOp: _integer_division(np.remainder, leaves=True),
    CheckedDivisorOp: _checked_divisor,
    CheckedIndexOp: _checked_index,
    FunctionOp: _function,
    math.IPowIOp: _whole_power,
}
"""`meaning(op, *operands)` for each class of scalar operations."""
