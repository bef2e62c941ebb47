"""Mathematics of scripts: the `math` dialect, and the table of scalar functions."""

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, cast

from xdsl.ir import SSAValue

from hidet.arch.functions import FLOAT_FUNCTIONS, FUNCTIONS, Operand, ScalarFunction
from hidet.dialects.cuda.arithmetic import FunctionOp
from hidet.errors import ScriptError
from hidet.frontends.script import types
from hidet.frontends.script.messages import describe
from hidet.frontends.script.operators import FUNCTIONS as OF_ONE_FLOAT
from hidet.frontends.script.operators import mathematics
from hidet.frontends.script.scalars import Scalar, binary, convert, is_number, scalar_of
from hidet.frontends.script.tracing import insert
from hidet.frontends.script.vectors import Vector, elementwise


def scalar_function(name: str) -> Callable[..., Scalar | float]:
    """Return the function of the table with this name; it folds compile-time operands."""
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
    """Return whether an operand is a compile-time constant; words have 32 bits."""
    return is_number(value) and (kind is Operand.FLOAT or value in _FITS)


def _of_floats(entry: ScalarFunction, operands: Sequence[object]) -> Scalar:
    """Call a function of floats; 16-bit floats and integers are computed in f32."""
    floats = [v for kind, v in zip(entry.takes, operands, strict=True) if kind is Operand.FLOAT]
    kinds = [value.type for value in floats if isinstance(value, Scalar) and value.type.is_float]
    kind = reduce(types.common_type, kinds) if kinds else types.F32
    if kind.bits == 16 and entry.function == "nextafter":
        raise ScriptError(f"there is no nextafter of {kind}", hint="of f32 and f64 there is")
    wide = types.F64 if kind == types.F64 else types.F32
    takes = [types.I32 if each is Operand.NUMBER else wide for each in entry.takes]
    if entry.gives is Operand.TRUTH:
        return _called(entry, operands, takes, types.BOOL)
    return convert(_called(entry, operands, takes, wide), kind)


def _of_words(entry: ScalarFunction, operands: Sequence[object]) -> Scalar:
    """Call a function of words; as in CUDA, narrower operands are sign-extended."""
    most = 64 if Operand.WORD in entry.takes else 32
    for value in operands:
        if not _is_word(value, most):
            raise ScriptError(
                f"{entry.function} takes integers of up to {most} bits, not {describe(value)}"
            )
    kind = _word_type(operands[0])
    gives = {Operand.NUMBER: types.I32, Operand.WORD: kind}.get(entry.gives, types.U32)
    return _called(entry, operands, [kind if most == 64 else types.U32] * len(operands), gives)


def _is_word(value: object, most: int) -> bool:
    if isinstance(value, Scalar):
        known = value.type
        return known.kind in ("index", "bool") or (bool(known.is_integer) and known.bits <= most)
    return isinstance(value, int) and -(1 << most - 1) <= value < 1 << most


def _word_type(value: object) -> types.ScalarType:
    """Return the 32- or 64-bit type of an integer as a word; an index has 32 bits."""
    if not isinstance(value, Scalar):
        return types.U32 if value in _FITS else types.U64
    if value.type.bits == 64 and value.type != types.INDEX:
        return value.type
    return types.I32 if value.type.kind == "signed" else types.U32


def _called(
    entry: ScalarFunction,
    operands: Sequence[object],
    takes: Sequence[types.ScalarType],
    gives: types.ScalarType,
) -> Scalar:
    values: list[SSAValue] = []
    for each, kind in zip(operands, takes, strict=True):
        if isinstance(each, int) and kind.kind == "unsigned":
            each &= kind.limits[1]  # a negative number is taken modulo the word size
        values.append(convert(each, kind).ssa)
    op = FunctionOp(entry.function, values, gives.ir)
    return Scalar(insert(op).result, gives)


def elementary(name: str, operand: object) -> Scalar:
    """Compute a unary function; of an integer in `f32`, of a vector elementwise."""
    if isinstance(operand, Vector):
        return cast("Scalar", elementwise(name, partial(elementary, name), operand))
    value = scalar_of(operand)
    kind = value.type if value.type.is_float else types.F32
    wide = convert(value, types.F32 if kind.bits == 16 else kind)
    return convert(Scalar(insert(OF_ONE_FLOAT[name](wide.ssa)).results[0], wide.type), kind)


def degrees(x: object) -> object:
    """Return an angle in radians converted to degrees."""
    return binary("*", x, 180 / math.pi)


def radians(x: object) -> object:
    """Return an angle in degrees converted to radians."""
    return binary("*", x, math.pi / 180)


def _of_one_float(name: str) -> Callable[[object], Scalar]:
    def function(x: object) -> Scalar:
        return elementary(name, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return {name}(x), in the type of x; of an integer in f32."
    return function


def logarithm(x: object, base: object = math.e) -> Scalar:
    """Return log(x), or the logarithm to a base, in the type of x; of an integer in f32."""
    natural = elementary("log", x)
    if base is math.e:
        return natural
    known = isinstance(base, int | float)
    return binary("/", natural, math.log(base) if known else elementary("log", base))


def maximum(*values: object) -> object:
    """Return the largest value; a number wins over NaN, as in CUDA's fmaxf."""
    return _extreme("max", values)


def minimum(*values: object) -> object:
    """Return the smallest value; a number wins over NaN, as in CUDA's fminf."""
    return _extreme("min", values)


def _extreme(name: str, values: tuple[object, ...]) -> object:
    """Reduce values, or the elements of a list."""
    if len(values) == 1 and isinstance(values[0], list | tuple):
        values = tuple(values[0])  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if len(values) == 0:
        raise ScriptError(f"{name} without operands")
    return reduce(partial(binary, name), values)


def _of_two(name: str, operator: str, summary: str) -> Callable[[object, object], Scalar]:
    def function(x: object, y: object) -> Scalar:
        return binary(operator, x, y)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = summary
    return function


def atan2(y: object, x: object) -> Scalar:
    """Return the angle of the point (x, y)."""
    return binary("atan2", y, x)


power = _of_two("pow", "**", "Return x to the power of y.")


def fma(x: object, y: object, z: object) -> Scalar | Vector:
    """Return x * y + z, rounded once, in the common type of the operands, at least f32.

    Vectors are computed elementwise; those of f16 and bf16 keep their type.
    """
    if any(isinstance(each, Vector) for each in (x, y, z)):
        return elementwise("fma", _fma_of_scalars, x, y, z)
    return _fma_of_scalars(x, y, z)


def _fma_of_scalars(*operands: object) -> Scalar:
    kinds = [value.type for value in operands if isinstance(value, Scalar)]
    kind = reduce(types.common_type, kinds, types.F32)
    a, b, c = (convert(v, kind).ssa for v in operands)
    return Scalar(insert(mathematics("FmaOp")(a, b, c)).results[0], kind)


MATH_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _of_one_float(name) for name in OF_ONE_FLOAT},  # `round` rounds half to even
    **{name: scalar_function(name) for name in FLOAT_FUNCTIONS},
    "abs": abs,
    "atan2": atan2,
    "copysign": _of_two("copysign", "copysign", "Return |x| with the sign of y, also of -0.0."),
    "degrees": degrees,
    "fma": fma,
    "log": logarithm,
    "max": maximum,
    "min": minimum,
    "pow": power,
    "radians": radians,
}
"""The functions of `hidet.lang.math`."""
