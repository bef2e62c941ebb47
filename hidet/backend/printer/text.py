"""Expressions of C++: text, precedence, and type."""

from dataclasses import dataclass
from enum import IntEnum


class Precedence(IntEnum):
    """The precedence of the outermost operator of an expression (C++, [expr])."""

    TERNARY = 1
    OR = 2
    AND = 3
    BIT_OR = 4
    BIT_XOR = 5
    BIT_AND = 6
    EQUALITY = 7
    RELATIONAL = 8
    SHIFT = 9
    ADDITIVE = 10
    MULTIPLICATIVE = 11
    UNARY = 12
    PRIMARY = 13


@dataclass(frozen=True)
class Text:
    """An expression of C++.

    Args:
        type: its C++ type, after promotions.
        operator: the outermost operator if it is binary, else empty.
        wraps: whether an unsigned expression represents a signed number, and is unsigned only to
            wrap around.
        bits: the same bits as unsigned, if the text is a conversion of it.
    """

    text: str
    type: str
    precedence: Precedence = Precedence.PRIMARY
    operator: str = ""
    wraps: bool = False
    bits: "Text | None" = None

    def at(self, minimum: Precedence) -> str:
        """Return the text as an operand of at least this precedence."""
        return self.text if self.precedence >= minimum else f"({self.text})"


_OPPOSITE = {"+": "-", "-": "+"}

_OPERATORS: dict[str, tuple[Precedence, Precedence, tuple[str, ...]]] = {
    symbol: (precedence, operands, chain)
    for symbols, precedence, operands, chain in (
        (("*", "/", "%"), Precedence.MULTIPLICATIVE, Precedence.UNARY, ("*", "/", "%")),
        (("+", "-"), Precedence.ADDITIVE, Precedence.MULTIPLICATIVE, ("+", "-")),
        (("<<", ">>"), Precedence.SHIFT, Precedence.UNARY, ()),
        (("<", "<=", ">", ">="), Precedence.RELATIONAL, Precedence.ADDITIVE, ()),
        (("==", "!="), Precedence.EQUALITY, Precedence.ADDITIVE, ()),
        (("&",), Precedence.BIT_AND, Precedence.UNARY, ("&",)),
        (("^",), Precedence.BIT_XOR, Precedence.UNARY, ("^",)),
        (("|",), Precedence.BIT_OR, Precedence.UNARY, ("|",)),
        (("&&",), Precedence.AND, Precedence.EQUALITY, ("&&",)),
        (("||",), Precedence.OR, Precedence.EQUALITY, ("||",)),
    )
    for symbol in symbols
}
"""Binary operators, which are left-associative: the precedence; the lowest precedence of an operand
without parentheses, for readability higher than C requires, `(a & b) << 2`, `(a && b) || c`; and
the operators of a left operand without parentheses, `a - b + c`."""


def binary(symbol: str, lhs: Text, rhs: Text, result_type: str) -> Text:
    """Return `lhs symbol rhs`, with the parentheses that it needs; `a + -4` becomes `a - 4`."""
    precedence, operands, chain = _OPERATORS[symbol]
    shown, right = symbol, rhs.at(operands)
    if symbol in _OPPOSITE and right.startswith("-"):
        shown, right = _OPPOSITE[symbol], right[1:]
    left = lhs.text if lhs.operator in chain else lhs.at(operands)
    return Text(f"{left} {shown} {right}", result_type, precedence, symbol)


def prefix(symbol: str, operand: Text, result_type: str) -> Text:
    """Return `-x`, `!x` or `~x`, never `--x`."""
    inner = operand.at(Precedence.UNARY)
    if inner.startswith(symbol):
        inner = f"({inner})"
    return Text(f"{symbol}{inner}", result_type, Precedence.UNARY)


def call(function: str, arguments: list[Text], result_type: str) -> Text:
    """Return `function(a, b)`."""
    return Text(f"{function}({', '.join(argument.text for argument in arguments)})", result_type)


def cast(value: Text, target: str) -> Text:
    """Return a value converted to another type; an int literal only gets a suffix."""
    if value.type == target:
        return value
    if target == "long long" and value.text.lstrip("-").isdigit():
        return Text(f"{value.text}LL", target, value.precedence)
    return call(f"hidet::cast<{target}>", [value], target)
