"""Formats of `printf`: text, conversions and their values."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hidet.dialects.cuda import PrintfOp
from hidet.errors import ScriptError
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import Scalar, convert, scalar_of
from hidet.frontends.script.tensors import Pointer, Tensor
from hidet.frontends.script.tracing import insert
from hidet.frontends.script.types import F64, I32, I64, ScalarType, scalar_type

MAX_VALUES = 32
"""The most values of a printf (CUDA C++ Programming Guide, formatted output)."""

_CONVERSION = re.compile(
    r"%(?P<style>[-+ #0]*\d*(?:\.\d*)?)(?P<length>hh|h|ll|l|j|z|t|q|L)?(?P<letter>.?)", re.DOTALL
)

SIGNED, UNSIGNED, FLOATS = "di", "uxXo", "fFeEgG"
"""The specifiers of signed integers, unsigned integers, and floats."""

_NARROW = {"hh": ("i8", "u8"), "h": ("i16", "u16")}
_LONG = frozenset({"l", "ll", "j", "z", "t", "q"})


@dataclass(frozen=True)
class Conversion:
    """A conversion specification: `%-8.3f`."""

    style: str
    length: str
    letter: str

    def __str__(self) -> str:
        return f"%{self.style}{self.length}{self.letter}"


def parse(text: str) -> list[str | Conversion]:
    """Return the parts of a format; `%%` stays as it is."""
    parts: list[str | Conversion] = []
    end = 0
    for match in _CONVERSION.finditer(text):
        style, length, letter = match["style"], match["length"] or "", match["letter"]
        if match[0] != "%%" and (not letter or letter not in SIGNED + UNSIGNED + FLOATS + "cs"):
            raise ScriptError(
                f"{match[0]!r} in a format is no conversion",
                hint="%d, %u, %x and %c print integers, %f, %e and %g floats, %s compile-time "
                "text, with constant widths; a percent sign is %%",
            )
        parts.append(text[end : match.start()])
        parts.append("%%" if match[0] == "%%" else Conversion(style, length, letter))
        end = match.end()
    return [part for part in (*parts, text[end:]) if part]


def printf(format_string: object, *args: object) -> None:
    """Print from a kernel, as C's `printf`.

    %d, %u, %x, %o and %c print integers of any width and sign, %f, %e and %g floats, %s
    compile-time text.

    Raises:
        ScriptError: the format is no compile-time string, or does not match the values.
    """
    if not isinstance(format_string, str):
        raise ScriptError(f"the format of printf is a string, not {describe(format_string)}")
    if "\0" in format_string:
        raise ScriptError("the format of printf contains NUL, which ends a C string")
    parts = parse(format_string)
    count = sum(isinstance(part, Conversion) for part in parts)
    if count != len(args):
        raise ScriptError(
            f"the format {format_string!r} takes {count} values, and got {len(args)}",
            hint="one %d or %f for each value; a percent sign is %%",
        )
    text: list[str] = []
    operands: list[Scalar] = []
    rest = iter(args)
    for part in parts:
        if isinstance(part, Conversion):
            shown, printed = _printed(part, next(rest))
            operands += printed
            part = str(shown)
        text.append(part)
    if len(operands) > MAX_VALUES:
        raise ScriptError(
            f"{len(operands)} values in one printf", hint=f"CUDA prints {MAX_VALUES} at once"
        )
    insert(PrintfOp("".join(text), [operand.ssa for operand in operands]))


def _printed(conversion: Conversion, value: object) -> tuple[Conversion | str, Sequence[Scalar]]:
    """Return how a value is printed, and the values passed; text becomes a part of the format."""
    letter = conversion.letter
    if isinstance(value, str) and letter == "s":
        return (f"%{conversion.style}s" % value).replace("%", "%%").replace("\0", "\\0"), ()
    if isinstance(value, str | Pointer | Tensor):
        raise _misfit(conversion, value, "%s prints text; load the element that a pointer is of")
    scalar = scalar_of(value)
    kind = scalar.type
    if kind.is_float:
        if letter not in FLOATS:
            raise _misfit(conversion, scalar, "use %f, %e or %g, or convert it: i32(x)")
        return replace(conversion, length=""), (convert(scalar, F64),)
    if letter not in SIGNED + UNSIGNED + "c":
        raise _misfit(conversion, scalar, "use %d, %u or %x, or convert it: f32(x)")
    if letter == "c":
        return replace(conversion, length=""), (convert(scalar, I32),)
    if conversion.length in _NARROW:
        narrow = scalar_type(_NARROW[conversion.length][letter in UNSIGNED])
        scalar = convert(scalar, narrow)
    elif kind.kind == "unsigned" and letter in SIGNED:
        letter = "u"
    is_long = conversion.length in _LONG or (kind.kind != "index" and kind.bits == 64)
    wide: ScalarType = I64 if is_long else I32
    shown = replace(conversion, length="ll" if is_long else "", letter=letter)
    return shown, (convert(scalar, wide),)


def _misfit(conversion: Conversion, value: object, hint: str) -> ScriptError:
    return ScriptError(f"{conversion} does not print {describe(value)}", hint=hint)
