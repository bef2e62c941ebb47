"""How the parts of a tuple are bound to names."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from hidet.errors import ScriptError
from hidet.frontends.script.values import Pointer, Scalar, Tensor, describe


def unpack(value: object, targets: Sequence[ast.expr]) -> list[tuple[ast.expr, object]]:
    """Return the parts of a tuple with the targets that they are assigned to.

    Raises:
        ScriptError: it has another number of parts, or none.
    """
    stars = [number for number, each in enumerate(targets) if isinstance(each, ast.Starred)]
    count = len(targets)
    if isinstance(value, Scalar | Tensor | Pointer) or not isinstance(value, Iterable):
        raise ScriptError(f"{describe(value)} cannot be unpacked into {count} names")
    values: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType]
    if (len(values) < count - 1) if stars else (len(values) != count):
        least = f"{count - 1} or more" if stars else count
        raise ScriptError(f"{len(values)} values for {least} names")
    plain = [each.value if isinstance(each, ast.Starred) else each for each in targets]
    for star in stars:
        end = len(values) - (count - 1 - star)
        values[star:end] = [values[star:end]]
    return list(zip(plain, values, strict=True))
