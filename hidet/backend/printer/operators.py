"""Ways to print an operation as an expression: what the tables of the dialects are made of.

An entry is called with the operation and a function that gives the text of an operand, which has
the C++ type of that value exactly. It returns the text with the type that the C++ compiler sees;
the writer converts where the operation's own type is another one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from hidet.backend.printer.text import Text, binary, call, cast, prefix
from hidet.backend.printer.types import (
    BOOL,
    INT,
    LONG_LONG,
    STORAGE_ONLY,
    UNSIGNED,
    value_type,
)
from hidet.errors import UnsupportedDtypeError

TextOf: TypeAlias = Callable[[SSAValue], Text]
"""Gives the text of an operand."""

ExpressionPrinter: TypeAlias = Callable[[Operation, TextOf], Text]
"""Prints an operation with one result as an expression."""


def refuse_storage_only(op: Operation) -> None:
    """Check that no operand is a half or bfloat16: these have no arithmetic.

    Raises:
        UnsupportedDtypeError: one is.
    """
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


@dataclass(frozen=True)
class FloatOperator:
    """`a + b` on floats."""

    symbol: str

    def __call__(self, op: Operation, text_of: TextOf) -> Text:
        """Print the operation."""
        lhs, rhs = operands_of(op, text_of)
        return binary(self.symbol, lhs, rhs, lhs.type)


@dataclass(frozen=True)
class IntegerOperator:
    """`a + b` on integers and indices; computed in 64 bits where the result has 64."""

    symbol: str

    def __call__(self, op: Operation, text_of: TextOf) -> Text:
        """Print the operation."""
        lhs, rhs = operands_of(op, text_of)
        _refuse(op, lhs.type == BOOL, op.operands[0])
        if value_type(op.results[0]) == LONG_LONG and promoted([lhs, rhs]) == INT:
            # Widen a literal if there is one: `i * 4096LL`. A shift has the type of its left side.
            if rhs.text.lstrip("-").isdigit() and self.symbol not in ("<<", ">>"):
                rhs = cast(rhs, LONG_LONG)
            else:
                lhs = cast(lhs, LONG_LONG)
        return binary(self.symbol, lhs, rhs, promoted([lhs, rhs]))


@dataclass(frozen=True)
class UnsignedOperator:
    """`a / b` on integers as unsigned numbers of the same width."""

    symbol: str

    def __call__(self, op: Operation, text_of: TextOf) -> Text:
        """Print the operation."""
        lhs, rhs = same_width(operands_of(op, text_of))
        _refuse(op, lhs.type == BOOL, op.operands[0])
        unsigned = UNSIGNED[lhs.type]
        lhs, rhs = cast(lhs, unsigned), cast(rhs, unsigned)
        # C++ promotes types that are smaller than int to int, which keeps their values.
        result = INT if unsigned in ("unsigned char", "unsigned short") else unsigned
        return binary(self.symbol, lhs, rhs, result)


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
            return prefix("~", lhs, promoted([lhs]))
        return binary(self.symbol, lhs, rhs, promoted([lhs, rhs]))


@dataclass(frozen=True)
class Negation:
    """`-x` on floats."""

    def __call__(self, op: Operation, text_of: TextOf) -> Text:
        """Print the operation."""
        (operand,) = operands_of(op, text_of)
        return prefix("-", operand, operand.type)


@dataclass(frozen=True)
class FloatCall:
    """`hidet::exp(x)`: a function that has a float and a double form."""

    function: str

    def __call__(self, op: Operation, text_of: TextOf) -> Text:
        """Print the operation."""
        arguments = operands_of(op, text_of)
        return call(f"hidet::{self.function}", arguments, arguments[0].type)


@dataclass(frozen=True)
class IntegerCall:
    """`hidet::floordiv(a, b)`: a template whose arguments have one type."""

    function: str
    unsigned: bool = False

    def __call__(self, op: Operation, text_of: TextOf) -> Text:
        """Print the operation."""
        arguments = same_width(operands_of(op, text_of))
        _refuse(op, arguments[0].type == BOOL, op.operands[0])
        if self.unsigned:
            arguments = [cast(argument, UNSIGNED[argument.type]) for argument in arguments]
        return call(f"hidet::{self.function}", arguments, arguments[0].type)
