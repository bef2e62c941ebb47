"""Prints operations of `arith`, and integer operations that it lacks."""

import math
from dataclasses import replace
from functools import reduce

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, FloatData, IndexType, IntAttr, IntegerAttr, f64
from xdsl.ir import Attribute, Operation

from hidet.backend.printer.operators import (
    BitOperator,
    Call,
    Division,
    ExpressionPrinter,
    FloatOperator,
    IntegerOperator,
    Shift,
    TextOf,
    choice,
    negate,
    operands_of,
    promoted,
)
from hidet.backend.printer.signs import as_unsigned, bits_of, is_unsigned, modular, number_of
from hidet.backend.printer.text import Precedence, Text, binary, call, cast, prefix
from hidet.backend.printer.types import (
    BOOL,
    INT,
    INT_LIMIT,
    LONG_LONG,
    UNSIGNED,
    WORDS,
    scalar_type,
    value_type,
)
from hidet.dialects.cuda.arithmetic import FloorModOp
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


# By the number of the predicate (xdsl.dialects.arith, CMPI_COMPARISON_OPERATIONS).
_INTEGER_PREDICATES = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
_FIRST_UNSIGNED = 6


def _compare_integers(op: arith.CmpiOp, text_of: TextOf) -> Text:
    number = op.predicate.value.data
    symbol = _INTEGER_PREDICATES[number]
    lhs, rhs = text_of(op.lhs), text_of(op.rhs)
    if lhs.type == BOOL and symbol not in ("==", "!=") and number < _FIRST_UNSIGNED:
        lhs, rhs = rhs, lhs  # true is -1 as a signed i1
    elif lhs.type != BOOL and number >= _FIRST_UNSIGNED:
        lhs, rhs = (_unsigned_side(text, other) for text, other in ((lhs, rhs), (rhs, lhs)))
    elif symbol in ("==", "!=") and {lhs.type, rhs.type} <= {INT, LONG_LONG}:
        lhs, rhs = modular(lhs, rhs)
    return binary(symbol, lhs, rhs, BOOL)


def _unsigned_side(text: Text, other: Text) -> Text:
    """Return an operand of an unsigned comparison; C++ converts literals implicitly."""
    converts = other.bits is not None and other.bits.type in WORDS
    if converts and (number_of(text) or -1) >= 0:
        return text
    return as_unsigned(text if other.type != LONG_LONG else cast(text, LONG_LONG))


# Comparisons of C++ are false if an operand is NaN, except !=. So ordered predicates are C++'s own,
# and an unordered one is the negation of the opposite ordered one.
_ORDERED_PREDICATES = {"oeq": "==", "ogt": ">", "oge": ">=", "olt": "<", "ole": "<=", "une": "!="}
_UNORDERED_PREDICATES = {"ugt": "<=", "uge": "<", "ult": ">=", "ule": ">"}


def _compare_floats(op: arith.CmpfOp, text_of: TextOf) -> Text:
    """Print a comparison of floats. `one` and `ueq` print their operands twice."""
    predicate = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    if predicate in ("true", "false"):
        return Text(predicate, BOOL)
    if predicate in ("ord", "uno"):
        return _compare_with_nan(op, text_of, predicate)
    lhs, rhs = operands_of(op, text_of)
    if predicate in _ORDERED_PREDICATES:
        return binary(_ORDERED_PREDICATES[predicate], lhs, rhs, BOOL)
    if predicate in _UNORDERED_PREDICATES:
        return prefix("!", binary(_UNORDERED_PREDICATES[predicate], lhs, rhs, BOOL), BOOL)
    differ = binary("||", binary("<", lhs, rhs, BOOL), binary(">", lhs, rhs, BOOL), BOOL)
    return differ if predicate == "one" else prefix("!", differ, BOOL)


def _compare_with_nan(op: arith.CmpfOp, text_of: TextOf, predicate: str) -> Text:
    """Print whether both operands are numbers (`ord`) or one is NaN (`uno`)."""
    values = dict.fromkeys(op.operands)  # once each
    tests = [call("hidet::isnan", [text_of(value)], BOOL) for value in values]
    if predicate == "ord":
        tests = [prefix("!", is_nan, BOOL) for is_nan in tests]
    symbol = "||" if predicate == "uno" else "&&"
    return reduce(lambda lhs, rhs: binary(symbol, lhs, rhs, BOOL), tests)


def _convert(op: Operation, text_of: TextOf) -> Text:
    """Print `hidet::cast<T>(x)`; C++ extends signed integers with their sign, as needed here."""
    operand = text_of(op.operands[0])
    target = value_type(op.results[0])
    converted = cast(operand, target)
    # true is -1 as a signed i1.
    return prefix("-", converted, target) if operand.type == BOOL else converted


def _convert_unsigned(op: Operation, text_of: TextOf) -> Text:
    operand = as_unsigned(text_of(op.operands[0]))
    target = value_type(op.results[0])
    converted = cast(operand, target)
    if target not in (INT, LONG_LONG):
        return converted
    return replace(converted, bits=replace(cast(operand, UNSIGNED[target]), wraps=True))


def _truncate(op: Operation, text_of: TextOf) -> Text:
    """Print the truncation of an integer; i1 is bool."""
    operand, target = text_of(op.operands[0]), value_type(op.results[0])
    if target != BOOL:
        return cast(bits_of(operand), UNSIGNED[target] if is_unsigned(operand) else target)
    lowest = binary("&", bits_of(operand), Text("1", "int"), promoted([operand]))
    return binary("!=", Text(lowest.at(Precedence.PRIMARY), lowest.type), Text("0", "int"), BOOL)


def _bitcast(op: Operation, text_of: TextOf) -> Text:
    """Print `hidet::bit_cast<T>(x)`."""
    target = scalar_type(op.results[0].type)
    return call(f"hidet::bit_cast<{target}>", [text_of(op.operands[0])], target)


EXPRESSIONS: dict[type[Operation], ExpressionPrinter] = {
    arith.ConstantOp: lambda op, text_of: literal(op.value),
    arith.SelectOp: lambda op, text_of: choice(*map(text_of, op.operands)),
    # floats
    arith.AddfOp: FloatOperator("+"),
    arith.SubfOp: FloatOperator("-"),
    arith.MulfOp: FloatOperator("*"),
    arith.DivfOp: FloatOperator("/"),
    arith.NegfOp: negate,
    arith.MaximumfOp: Call("maximum"),
    arith.MinimumfOp: Call("minimum"),
    arith.MaxnumfOp: Call("fmax"),
    arith.MinnumfOp: Call("fmin"),
    arith.CmpfOp: _compare_floats,
    # integers and indices
    arith.AddiOp: IntegerOperator("+"),
    arith.SubiOp: IntegerOperator("-"),
    arith.MuliOp: IntegerOperator("*"),
    arith.DivSIOp: Division("/", "divide"),
    arith.RemSIOp: Division("%", "remainder"),
    arith.ShLIOp: Shift("<<", "shift_left"),
    arith.ShRSIOp: Shift(">>", "shift_right"),
    arith.DivUIOp: Division("/", "divide", unsigned=True),
    arith.RemUIOp: Division("%", "remainder", unsigned=True),
    arith.ShRUIOp: Shift(">>", "shift_right", unsigned=True),
    arith.FloorDivSIOp: Call("floordiv"),
    FloorModOp: Call("floormod"),
    arith.MaxSIOp: Call("maximum"),
    arith.MinSIOp: Call("minimum"),
    arith.MaxUIOp: Call("maximum", unsigned=True),
    arith.MinUIOp: Call("minimum", unsigned=True),
    arith.CmpiOp: _compare_integers,
    arith.AndIOp: BitOperator("&", "&&"),
    arith.OrIOp: BitOperator("|", "||"),
    arith.XOrIOp: BitOperator("^", "!="),
    # conversions
    arith.IndexCastOp: _convert,
    arith.ExtSIOp: _convert,
    arith.ExtUIOp: _convert_unsigned,
    arith.TruncIOp: _truncate,
    arith.SIToFPOp: _convert,
    arith.UIToFPOp: _convert_unsigned,
    arith.FPToSIOp: _convert,
    arith.FPToUIOp: lambda op, text_of: cast(text_of(op.input), UNSIGNED[value_type(op.result)]),
    arith.ExtFOp: _convert,
    arith.TruncFOp: _convert,
    arith.BitcastOp: _bitcast,
}
