"""The sign of integers in C++: what is unsigned by nature, and what only wraps around.

Integers of the IR have no sign, and wrap around. In C++ unsigned ones do, and of signed ones an
overflow is undefined. So what may overflow is computed as unsigned, for which one operand has to be
so. The text of such a value is kept twice: as a number of the type that the value has, and, in
`bits`, as the unsigned number with the same bits, for users that do not ask for the sign.
"""

from dataclasses import replace

from hidet.backend.printer.text import Precedence, Text, cast
from hidet.backend.printer.types import UNSIGNED, WORDS

_SIGNED = {unsigned: signed for signed, unsigned in UNSIGNED.items() if signed != "bool"}

_SMALL = 1 << 15
"""A negative number down to minus this is better read with its sign: `x - 4`."""


def bits_of(text: Text) -> Text:
    """Return the shortest text with the bits of an integer, whose type may be unsigned."""
    return text.bits or text


def is_unsigned(text: Text) -> bool:
    """Return whether an integer is unsigned by nature: loaded as such, or so computed."""
    bits = bits_of(text)
    return bits.type in _SIGNED and not bits.wraps


def number_of(text: Text) -> int | None:
    """Return the number that a literal of `int` or `long long` is, None for other texts."""
    digits = text.text.removesuffix("LL").removesuffix(" - 1")
    if text.type not in ("int", "long long") or not digits.removeprefix("-").isdigit():
        return None
    return int(digits) - (" - 1" in text.text)


def as_unsigned(text: Text) -> Text:
    """Return an integer as an unsigned number of its width; a literal as one."""
    bits = bits_of(text)
    if bits.type in _SIGNED or bits.type == "bool":
        return bits
    kind = UNSIGNED[text.type]
    number = number_of(text)
    if number is None:
        return replace(cast(text, kind), wraps=True)
    width = 32 if text.type == "int" else 64
    return Text(f"{number % (1 << width)}{_suffix(kind)}", kind, wraps=True)


def with_type(computed: Text, kind: str) -> Text:
    """Return an integer with the type of its value; with its bits if these were computed."""
    if computed.type == kind or UNSIGNED.get(kind) != computed.type:
        return cast(computed, kind)
    return replace(cast(computed, kind), bits=computed)


def passed(text: Text, target: str) -> Text:
    """Return a value where C++ converts it to a type, as in an assignment.

    Numbers of one width need no conversion: the sign takes care of itself.
    """
    if target not in (text.type, UNSIGNED.get(text.type)):
        return cast(text, target)
    bits = bits_of(text)
    return bits if len(bits.text) < len(text.text) else text


def modular(lhs: Text, rhs: Text, *, additive: bool = False, wrap: bool = False) -> list[Text]:
    """Return two operands of arithmetic on words that does not ask for their sign.

    Args:
        lhs: the left operand.
        rhs: the right operand.
        additive: whether a small negative literal may keep its sign.
        wrap: whether one of them has to be unsigned, so that C++ wraps around.
    """
    operands = [bits_of(lhs), bits_of(rhs)]
    if not any(operand.type in WORDS for operand in operands):
        if not wrap:
            return operands
        number = 0 if number_of(operands[0]) is not None else 1
        if number_of(operands[number]) is None:
            number = 0
        operands[number] = _literal_or_unsigned(operands[number], additive)
        return operands
    return [
        operand
        if operand.type in WORDS or (number_of(operand) or 0) >= 0
        else _literal_or_unsigned(operand, additive, suffix=False)
        for operand in operands
    ]


def _literal_or_unsigned(text: Text, additive: bool, *, suffix: bool = True) -> Text:
    """Return an operand as unsigned; a small negative literal of a sum as `-4u`, or `-4`."""
    number = number_of(text)
    if number is None or number >= 0 or not additive or number < -_SMALL:
        return as_unsigned(text)
    kind = UNSIGNED[text.type]
    text_of_literal = f"{number}{_suffix(kind) if suffix else ''}"
    return Text(text_of_literal, kind, Precedence.UNARY, wraps=True)


def modular_type(operands: list[Text], otherwise: str) -> tuple[str, bool]:
    """Return the type that C++ gives a result of `modular` operands, and whether it only wraps."""
    words = [operand for operand in operands if operand.type in WORDS]
    if not words:
        return otherwise, False
    return words[0].type, all(word.wraps for word in words)


def _suffix(kind: str) -> str:
    return "u" if kind == "unsigned" else "ULL"
