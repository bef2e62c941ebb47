"""Printers of expressions: the entries of the tables of the dialects.

An entry is called with the operation and a function that returns the text of an operand, in the
exact C++ type of that value. It returns the text with its type according to the rules of C++; the
writer converts it if the operation's type differs.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import FixedBitwidthType, IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue

from hidet.backend.printer.signs import (
    as_unsigned,
    bits_of,
    is_unsigned,
    modular,
    modular_type,
    number_of,
)
from hidet.backend.printer.text import Precedence, Text, binary, call, cast, prefix
from hidet.backend.printer.types import (
    BOOL,
    INT,
    INT_LIMIT,
    LONG_LONG,
    STORAGE_ONLY,
    WORDS,
    value_type,
)
from hidet.dialects.cuda.marks import SAFE
from hidet.errors import UnsupportedDtypeError

TextOf: TypeAlias = Callable[[SSAValue], Text]
"""Returns the text of an operand."""

ExpressionPrinter: TypeAlias = Callable[[Any, TextOf], Text]
"""Prints an operation with one result as an expression."""


def refuse_storage_only(op: Operation) -> None:
    """Raise `UnsupportedDtypeError` if an operand has a type without arithmetic."""
    for operand in op.operands:
        _refuse(op, value_type(operand) in STORAGE_ONLY, operand)


def operands_of(op: Operation, text_of: TextOf) -> list[Text]:
    """Return the texts of the operands of an arithmetic operation."""
    refuse_storage_only(op)
    return [text_of(operand) for operand in op.operands]


def _refuse(op: Operation, condition: bool, value: SSAValue) -> None:
    if condition:
        raise UnsupportedDtypeError(
            f"CUDA C++ has no {op.name} for {value.type} here",
            hint="half and bfloat16 are computed in float, booleans with andi, ori and xori",
        )


def promoted(texts: list[Text]) -> str:
    """Return the type of integer arithmetic on these operands (ISO C++, [expr.arith.conv])."""
    return LONG_LONG if any(text.type == LONG_LONG for text in texts) else INT


def same_width(texts: list[Text]) -> list[Text]:
    """Return integers converted to the widest type among them."""
    if any(text.type == LONG_LONG for text in texts):
        return [cast(text, LONG_LONG) for text in texts]
    return texts


def choice(condition: Text, *values: Text) -> Text:
    """Return `c ? a : b`, of operands in one type: unsigned if one of them is, else the widest."""
    has_unsigned = any(map(is_unsigned, values))
    then, otherwise = map(as_unsigned, values) if has_unsigned else same_width(list(values))
    # Operands of || and && need no parentheses here: `i < n && j < m ? a : b`; nor does another
    # choice after the colon.
    text = f"{condition.at(Precedence.OR)} ? {then.at(Precedence.OR)} : {otherwise.text}"
    return Text(text, then.type, Precedence.TERNARY)


def integers_of(op: Operation, text_of: TextOf) -> list[Text]:
    """Return the texts of two integers; of two indices one has 64 bits if the result has."""
    lhs, rhs = operands_of(op, text_of)
    _refuse(op, lhs.type == BOOL, op.operands[0])
    is_long = value_type(op.results[0]) == LONG_LONG and promoted([lhs, rhs]) == INT
    if not isinstance(op.results[0].type, IndexType) or not is_long:
        return [lhs, rhs]
    # Widen a literal if there is one: `i * 4096LL`. A shift has the type of its left operand.
    if rhs.text.lstrip("-").isdigit() and not isinstance(op, _SHIFTS):
        return [lhs, cast(rhs, LONG_LONG)]
    return [cast(lhs, LONG_LONG), rhs]


@dataclass(frozen=True)
class FloatOperator:
    """`a + b` on floats."""

    symbol: str

    def __call__(self, op: Operation, text_of: TextOf) -> Text:
        """Print the operation."""
        lhs, rhs = operands_of(op, text_of)
        return binary(self.symbol, lhs, rhs, lhs.type)

    def update(self, op: Operation, target: str, value: Text) -> tuple[str, Text]:
        """Return the operator and the right side of `x += v`."""
        return self.symbol, value


@dataclass(frozen=True)
class IntegerOperator:
    """`a + b` on integers and indices.

    Integers wrap around, unless the operation is marked as not overflowing; index arithmetic never
    overflows, and has 64 bits if the result has.
    """

    symbol: str

    def __call__(self, op: Operation, text_of: TextOf) -> Text:
        """Print the operation."""
        (lhs, rhs), result = integers_of(op, text_of), op.results[0]
        if not isinstance(result.type, IndexType) and value_type(result) in (INT, LONG_LONG):
            additive = self.symbol in ("+", "-")
            operands = modular(lhs, rhs, additive=additive, wrap=wraps_around(op))
            kind, wraps = modular_type(operands, promoted(operands))
            return replace(binary(self.symbol, operands[0], operands[1], kind), wraps=wraps)
        return binary(self.symbol, lhs, rhs, promoted([lhs, rhs]))

    def update(self, op: Operation, target: str, value: Text) -> tuple[str, Text]:
        """Return the operator and the right side of `x += v`, for an x of a type."""
        number = number_of(value)
        symbol = self.symbol
        if number is not None and -INT_LIMIT < number < 0 and symbol in ("+", "-"):
            symbol = "-" if symbol == "+" else "+"
            value = Text(value.text.removeprefix("-"), value.type)
        if target in WORDS:
            return symbol, modular(Text("", target), value)[1]
        if target in (INT, LONG_LONG) and wraps_around(op):
            return symbol, as_unsigned(value)
        return symbol, value


def wraps_around(op: Operation) -> bool:
    """Return whether an operation on integers may overflow, according to the IR."""
    if not isinstance(op, arith.AddiOp | arith.SubiOp | arith.MuliOp):
        return False
    if isinstance(op.results[0].type, IndexType):
        return False
    return arith.IntegerOverflowFlag.NSW not in op.overflow_flags.data


_SHIFTS = arith.ShLIOp | arith.ShRSIOp | arith.ShRUIOp


@dataclass(frozen=True)
class Division:
    """`a / b`, or a function unless `b` is known: C++ traps, or is undefined, for some."""

    symbol: str
    function: str
    unsigned: bool = False

    def __call__(self, op: Operation, text_of: TextOf) -> Text:
        """Print the operation."""
        operands = integers_of(op, text_of)
        safe = is_safe(op)
        if self.unsigned:
            operands = same_width(operands)
            unsigned = [as_unsigned(operand) for operand in operands]
            if safe and (number_of(operands[1]) or -1) >= 0 and unsigned[0].type in WORDS:
                unsigned[1] = operands[1]
            operands = unsigned
        if not safe:
            operands = operands if self.unsigned else same_width(operands)
            return call(f"hidet::{self.function}", operands, operands[0].type)
        # C++ promotes smaller types to int, which preserves their values.
        kind = operands[0].type if operands[0].type in WORDS else promoted(operands)
        return binary(self.symbol, operands[0], operands[1], kind)


@dataclass(frozen=True)
class Shift:
    """`a << b`, or a function if the count may be negative or not less than the width."""

    symbol: str
    function: str
    unsigned: bool = False

    def __call__(self, op: Operation, text_of: TextOf) -> Text:
        """Print the operation."""
        lhs, rhs = integers_of(op, text_of)
        wraps = False
        if self.unsigned:
            lhs = as_unsigned(lhs)
        elif self.symbol == "<<" and value_type(op.results[0]) in (INT, LONG_LONG):
            lhs = bits_of(lhs)
            wraps = lhs.wraps
        if not is_safe(op):
            return replace(
                call(f"hidet::{self.function}", [lhs, bits_of(rhs)], lhs.type), wraps=wraps
            )
        kind = lhs.type if lhs.type in WORDS else promoted([lhs])
        return replace(binary(self.symbol, lhs, bits_of(rhs), kind), wraps=wraps)


def is_safe(op: Operation) -> bool:
    """Return whether C++'s operator has the semantics of the IR."""
    if SAFE in op.attributes:
        return True
    owner = op.operands[1].owner
    if not isinstance(owner, arith.ConstantOp) or not isinstance(owner.value, IntegerAttr):
        return False
    number, kind = owner.value.value.data, op.results[0].type
    if not isinstance(op, _SHIFTS):
        return number not in (0, -1)
    return 0 <= number < (kind.bitwidth if isinstance(kind, FixedBitwidthType) else 64)


@dataclass(frozen=True)
class BitOperator:
    """`a & b` on integers, `a && b` on booleans."""

    symbol: str
    boolean: str

    def __call__(self, op: Operation, text_of: TextOf) -> Text:
        """Print the operation."""
        lhs, rhs = operands_of(op, text_of)
        if lhs.type == BOOL:
            if self.boolean == "!=" and "true" in (lhs.text, rhs.text):
                return prefix("!", lhs if rhs.text == "true" else rhs, BOOL)
            return binary(self.boolean, lhs, rhs, BOOL)
        if self.symbol == "^" and rhs.text in ("-1", "-1LL"):
            operand = bits_of(lhs) if lhs.type in (INT, LONG_LONG) else lhs
            kind = operand.type if operand.type in WORDS else promoted([lhs])
            return replace(prefix("~", operand, kind), wraps=operand.wraps)
        operands = modular(lhs, rhs) if lhs.type in (INT, LONG_LONG) else [lhs, rhs]
        kind, wraps = modular_type(operands, promoted(operands))
        return replace(binary(self.symbol, operands[0], operands[1], kind), wraps=wraps)

    def update(self, op: Operation, target: str, value: Text) -> tuple[str, Text]:
        """Return the operator and the right side of `x &= v`, for an x of a type."""
        return self.symbol, modular(Text("", target), value)[1] if target in WORDS else value


def negate(op: Operation, text_of: TextOf) -> Text:
    """Print `-x` on floats."""
    (operand,) = operands_of(op, text_of)
    return prefix("-", operand, operand.type)


@dataclass(frozen=True)
class Call:
    """`hidet::exp(x)`, `hidet::floordiv(a, b)`: a function with arguments of one type."""

    function: str
    unsigned: bool = False

    def __call__(self, op: Operation, text_of: TextOf) -> Text:
        """Print the operation."""
        arguments = same_width(operands_of(op, text_of))
        _refuse(op, arguments[0].type == BOOL, op.operands[0])
        if self.unsigned:
            arguments = [as_unsigned(argument) for argument in arguments]
        return call(f"hidet::{self.function}", arguments, arguments[0].type)
