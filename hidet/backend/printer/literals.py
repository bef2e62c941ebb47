"""Prints constants as C++ literals with the exact value and type."""

import math

import numpy as np
from xdsl.dialects.builtin import FloatAttr, FloatData, IndexType, IntAttr, IntegerAttr, f64
from xdsl.ir import Attribute

from hidet.backend.printer.text import Precedence, Text, cast
from hidet.backend.printer.types import BOOL, INT, INT_LIMIT, LONG_LONG, scalar_type
from hidet.errors import UnsupportedDtypeError


def literal(value: Attribute) -> Text:
    """Return the literal of a constant.

    Raises:
        UnsupportedDtypeError: it is not an integer or a float of a supported type.
    """
    match value:
        case IntegerAttr(value=IntAttr(data=number), type=kind):
            return _integer(number, kind)
        case FloatAttr(value=FloatData(data=number), type=kind):
            return _float(number, kind)
        case _:
            pass
    raise UnsupportedDtypeError(f"CUDA C++ has no literal for {value}")


def _integer(value: int, kind: Attribute) -> Text:
    """Return an integer or boolean literal; in C++ the smallest integers have no literal."""
    if isinstance(kind, IndexType):
        target = INT if -INT_LIMIT <= value < INT_LIMIT else LONG_LONG
    else:
        target = scalar_type(kind)
    if target == BOOL:
        return Text("true" if value else "false", BOOL)
    if target != LONG_LONG:
        if value == -INT_LIMIT:
            return Text(f"{value + 1} - 1", INT, Precedence.ADDITIVE, "-")
        return cast(_signed(str(value), INT), target)
    if value == -(1 << 63):
        return Text(f"{value + 1}LL - 1", LONG_LONG, Precedence.ADDITIVE, "-")
    return _signed(f"{value}LL", LONG_LONG)


def _float(value: float, kind: Attribute) -> Text:
    """Return the shortest float literal that parses to the same number."""
    target = scalar_type(kind)
    if kind != f64:
        # Converting a half or bfloat16 to float and back is exact.
        with np.errstate(over="ignore"):
            value = float(np.float32(value))
    if math.isnan(value):
        return cast(Text("NAN", "float"), target)
    if math.isinf(value):
        return cast(_signed("INFINITY" if value > 0 else "-INFINITY", "float"), target)
    if kind == f64:
        return _signed(_decimal(repr(value)), target)
    return cast(_signed(f"{_decimal(str(np.float32(value)))}f", "float"), target)


def _decimal(digits: str) -> str:
    """Normalize Python's format of a finite float: `1e-05` to `1e-5`, `1e+20` to `1e20`."""
    mantissa, exponent, power = digits.partition("e")
    return f"{mantissa}e{int(power)}" if exponent else mantissa


def _signed(text: str, target: str) -> Text:
    """Return a literal with its precedence: a minus sign is an operator."""
    return Text(text, target, Precedence.UNARY if text.startswith("-") else Precedence.PRIMARY)
