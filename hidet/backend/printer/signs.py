"""The signedness of integers in C++.

Integers of the IR are signless, and wrap around. In C++ unsigned ones wrap around, while signed
overflow is undefined. So arithmetic that may overflow is unsigned, for which one operand has to be
unsigned. The text of such a value has two forms: in the type of the value, and, in `bits`, unsigned
with the same bits, for users that do not depend on the sign.
"""

from dataclasses import replace

from hidet.backend.printer.text import Precedence, Text, cast
from hidet.backend.printer.types import UNSIGNED, WORDS

_SIGNED = {unsigned: signed for signed, unsigned in UNSIGNED.items() if signed != "bool"}

_SMALL = 1 << 15
"""Negative literals down to minus this are printed with their sign: `x - 4`."""


def bits_of(text: Text) -> Text:
    """Return the shortest text with the bits of an integer, which may be unsigned."""
    return text.bits or text


def is_unsigned(text: Text) -> bool:
    """Return whether an integer is unsigned in C++, and does not only wrap around."""
    bits = bits_of(text)
    return bits.type in _SIGNED and not bits.wraps


def number_of(text: Text) -> int | None:
    """Return the value of a literal of `int` or `long long`, None for other texts."""
    digits = text.text.removesuffix("LL").removesuffix(" - 1")
    if text.type not in ("int", "long long") or not digits.removeprefix("-").isdigit():
        return None
    return int(digits) - (" - 1" in text.text)


def as_unsigned(text: Text) -> Text:
    """Return an integer as unsigned of its width; a literal stays one."""
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
    """Return a value in a context that converts it implicitly, such as an assignment.

    Integers of one width need no explicit conversion.
    """
    if target not in (text.type, UNSIGNED.get(text.type)):
        return cast(text, target)
    bits = bits_of(text)
    return bits if len(bits.text) < len(text.text) else text


def modular(lhs: Text, rhs: Text, *, additive: bool = False, wrap: bool = False) -> list[Text]:
    """Return the operands of arithmetic that does not depend on their sign.

    In `additive` arithmetic, a small negative literal keeps its sign. To `wrap` around in C++, one
    of them has to be unsigned.
    """
    operands = [bits_of(lhs), bits_of(rhs)]
    if not any(operand.type in WORDS for operand in operands):
        if not wrap:
            return operands
        is_number = [number_of(operand) is not None for operand in operands]
        number = int(is_number == [False, True])
        operands[number] = _literal_or_unsigned(operands[number], additive)
        return operands
    return [
        operand
        if operand.type in WORDS or (number_of(operand) or 0) >= 0
        else _literal_or_unsigned(operand, additive, suffix=False)
        for operand in operands
    ]


def _literal_or_unsigned(text: Text, additive: bool, *, suffix: bool = True) -> Text:
    """Return an operand as unsigned; a small negative literal in a sum as `-4u`, or `-4`."""
    number = number_of(text)
    if number is None or number >= 0 or not additive or number < -_SMALL:
        return as_unsigned(text)
    kind = UNSIGNED[text.type]
    text_of_literal = f"{number}{_suffix(kind) if suffix else ''}"
    return Text(text_of_literal, kind, Precedence.UNARY, wraps=True)


def modular_type(operands: list[Text], otherwise: str) -> tuple[str, bool]:
    """Return the C++ type of a result of `modular` operands, and whether it only wraps."""
    words = [operand for operand in operands if operand.type in WORDS]
    if not words:
        return otherwise, False
    return words[0].type, all(word.wraps for word in words)


def _suffix(kind: str) -> str:
    return "u" if kind == "unsigned" else "ULL"
