"""Mathematics of scripts: functions of the `math` dialect, and of the table of scalar functions."""

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from hidet.arch.functions import FLOAT_FUNCTIONS, FUNCTIONS, Operand, ScalarFunction
from hidet.dialects.cuda.arithmetic import FunctionOp
from hidet.errors import ScriptError
from hidet.frontends.script.messages import describe
from hidet.frontends.script.operators import FUNCTIONS as OF_ONE_FLOAT
from hidet.frontends.script.operators import mathematics
from hidet.frontends.script.scalars import (
    Scalar,
    binary,
    constant,
    convert,
    elementary,
    is_number,
    scalar_of,
)
from hidet.frontends.script.tracing import insert
from hidet.frontends.script.types import (
    BOOL,
    F32,
    F64,
    I32,
    INDEX,
    U32,
    U64,
    ScalarType,
    VectorType,
    common_type,
)
from hidet.frontends.script.vectors import Vector, packed


def scalar_function(name: str) -> Callable[..., Scalar | float]:
    """Return the function of the table with this name.

    Of numbers that Python knows it gives a number of Python.
    """
    entry = FUNCTIONS[name]

    def function(*operands: object) -> Scalar | float:
        if len(operands) != len(entry.takes):
            raise ScriptError(f"{name} takes {len(entry.takes)} operands, not {len(operands)}")
        if all(_is_known(kind, each) for kind, each in zip(entry.takes, operands, strict=True)):
            return entry.meaning(*operands)
        if Operand.FLOAT in entry.takes:
            return _of_floats(entry, operands)
        return _of_words(entry, operands)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return {entry.summary}."
    return function


_FITS = range(-(1 << 31), 1 << 32)


def _is_known(kind: Operand, value: object) -> bool:
    """Return whether Python computes with an operand; a word of it has 32 bits."""
    return is_number(value) and (kind is Operand.FLOAT or value in _FITS)


def _of_floats(entry: ScalarFunction, operands: Sequence[object]) -> Scalar:
    """Call a function of floats; short ones are computed in f32, and so are integers.

    Raises:
        ScriptError: it is not computed so.
    """
    floats = [v for kind, v in zip(entry.takes, operands, strict=True) if kind is Operand.FLOAT]
    types = [value.type for value in floats if isinstance(value, Scalar) and value.type.is_float]
    kind = reduce(common_type, types) if types else F32
    if kind.bits == 16 and entry.function == "nextafter":
        raise ScriptError(f"there is no nextafter of {kind}", hint="of f32 and f64 there is")
    wide = F64 if kind == F64 else F32
    takes = [I32 if each is Operand.NUMBER else wide for each in entry.takes]
    result = _called(entry, operands, takes, BOOL if _is_test(entry) else wide)
    return result if _is_test(entry) else convert(result, kind)


def _is_test(entry: ScalarFunction) -> bool:
    return entry.gives is Operand.TRUTH


def _of_words(entry: ScalarFunction, operands: Sequence[object]) -> Scalar:
    """Call a function of words: as in CUDA, what is narrower is extended by its sign.

    Raises:
        ScriptError: an operand is no integer, or has 64 bits where there are 32 only.
    """
    most = 64 if Operand.WORD in entry.takes else 32
    for value in operands:
        if not _is_word(value, most):
            raise ScriptError(
                f"{entry.function} takes integers of up to {most} bits, not {describe(value)}"
            )
    kind = _word_type(operands[0])
    gives = {Operand.NUMBER: I32, Operand.WORD: kind}.get(entry.gives, U32)
    return _called(entry, operands, [kind if most == 64 else U32] * len(operands), gives)


def _is_word(value: object, most: int) -> bool:
    if isinstance(value, Scalar):
        known = value.type
        return known.kind in ("index", "bool") or (bool(known.is_integer) and known.bits <= most)
    return isinstance(value, int) and -(1 << most - 1) <= value < 1 << most


def _word_type(value: object) -> ScalarType:
    """Return the type of 32 or 64 bits in which an integer is a word; an index has 32."""
    if not isinstance(value, Scalar):
        return U32 if value in _FITS else U64
    if value.type.bits == 64 and value.type != INDEX:
        return value.type
    return I32 if value.type.kind == "signed" else U32


def _called(
    entry: ScalarFunction,
    operands: Sequence[object],
    takes: Sequence[ScalarType],
    gives: ScalarType,
) -> Scalar:
    """Call a function with operands that are converted to these types."""
    values = [
        convert(_scalar(each, kind), kind).ssa for each, kind in zip(operands, takes, strict=True)
    ]
    op = FunctionOp(entry.function, values, gives.ir)
    return Scalar(insert(op).result, gives)


def _scalar(value: object, kind: ScalarType) -> Scalar:
    """Return an operand as a scalar; a negative number counts as the word with its bits."""
    if isinstance(value, int) and kind.kind == "unsigned":
        return constant(value & kind.limits[1], kind)
    return scalar_of(value, kind)


# Functions that others are made of.
def degrees(x: object) -> object:
    """Return an angle in degrees."""
    return binary("*", x, 180 / math.pi)


def radians(x: object) -> object:
    """Return an angle that is given in degrees in radians."""
    return binary("*", x, math.pi / 180)


def copysign(x: object, y: object) -> Scalar:
    """Return |x| with the sign of y, that of -0.0 and NaN as well."""
    return binary("copysign", x, y)


# Mathematics.
def _of_one_float(name: str) -> Callable[[object], Scalar]:
    """Return the function of one float with this name."""

    def function(x: object) -> Scalar:
        return elementary(name, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return {name}(x), in the type of x; of an integer in f32."
    return function


ELEMENTARY = {name: _of_one_float(name) for name in OF_ONE_FLOAT if name not in ("abs", "round")}
"""Functions of one float, by name."""


def absolute(x: Scalar) -> Scalar:
    """Return |x|."""
    return abs(x)


def logarithm(x: object, base: object = math.e) -> Scalar:
    """Return log(x), in the type of x, or that to another base; of an integer in f32."""
    natural = elementary("log", x)
    return natural if base is math.e else binary("/", natural, log_of(base))


def log_of(base: object) -> object:
    """Return the natural logarithm of a base."""
    return math.log(base) if is_number(base) else elementary("log", base)  # pyright: ignore[reportArgumentType]


def any_of(values: Sequence[object]) -> object:
    """Return whether one of some conditions holds; all of them are computed."""
    return reduce(partial(binary, "|"), map(condition, values), False)


def all_of(values: Sequence[object]) -> object:
    """Return whether all of some conditions hold; all of them are computed."""
    return reduce(partial(binary, "&"), map(condition, values), True)


def condition(value: object) -> Scalar:
    """Return a value as a condition: whether it is not zero."""
    return convert(value, BOOL)


def maximum(*values: object) -> object:
    """Return the largest value; of floats a number wins over NaN, as CUDA's fmaxf has it."""
    return _extreme("max", values)


def minimum(*values: object) -> object:
    """Return the smallest value; of floats a number wins over NaN, as CUDA's fminf has it."""
    return _extreme("min", values)


def _extreme(name: str, values: tuple[object, ...]) -> object:
    """Return the largest or smallest of some values; of a list where there is one argument."""
    if len(values) == 1 and isinstance(values[0], list | tuple):
        values = tuple(values[0])  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if len(values) == 0:
        raise ScriptError(f"{name} of nothing")
    return reduce(partial(binary, name), values)


def power(x: object, y: object) -> Scalar:
    """Return x to the power of y."""
    return binary("**", x, y)


def atan2(y: object, x: object) -> Scalar:
    """Return the angle of the point (x, y)."""
    return binary("atan2", y, x)


def rounded(x: object) -> Scalar:
    """Return the nearest whole number as a float, a half to the even one."""
    return elementary("round", x)


def _fma_of_vectors(kind: VectorType, *operands: object) -> Vector:
    """Return x * y + z of each element; a scalar stands for a vector of it."""
    rows = [each if isinstance(each, Vector) else [each] * kind.lanes for each in operands]
    if len({len(row) for row in rows}) != 1:
        raise ScriptError(
            f"fma of {', '.join(map(describe, operands[:-1]))} and {describe(operands[-1])}",
            hint="vectors with the same number of elements, or scalars",
        )
    elements = [_fma_of_scalars(each) for each in zip(*rows, strict=True)]
    return Vector(VectorType(elements[0].type, kind.lanes), tuple(elements))


def fma(x: object, y: object, z: object) -> Scalar | Vector:
    """Return x * y + z, rounded once, in the common type of the three, at least f32.

    Of vectors it is that of each element; those of f16 and bf16 keep their type.
    """
    vectors = [each for each in (x, y, z) if isinstance(each, Vector)]
    if vectors:
        pairs = packed("fma", x, y, z)
        return _fma_of_vectors(vectors[0].type, x, y, z) if pairs is None else pairs
    return _fma_of_scalars((x, y, z))


_FMA = mathematics("FmaOp")


def _fma_of_scalars(operands: Sequence[object]) -> Scalar:
    kind = F32
    for value in operands:
        if isinstance(value, Scalar):
            kind = common_type(kind, value.type)
    a, b, c = (convert(v, kind).ssa for v in operands)
    return Scalar(insert(_FMA(a, b, c)).results[0], kind)


MATH_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **ELEMENTARY,
    # Of scripts: what Python's `math.gamma(x)`, `math.remainder(x, y)` mean there as well.
    **{name: scalar_function(name) for name in FLOAT_FUNCTIONS},
    "abs": absolute,
    "atan2": atan2,
    "copysign": copysign,
    "degrees": degrees,
    "fma": fma,
    "log": logarithm,
    "max": maximum,
    "min": minimum,
    "pow": power,
    "radians": radians,
    "round": rounded,
}
"""All of them: what the tables of functions have, and what takes more than one operation."""
