"""Functions of scripts: loops, conversions, lengths."""

import re

from hidet.errors import ScriptError
from hidet.frontends.script.iterables import Grid, Range
from hidet.frontends.script.messages import describe
from hidet.frontends.script.pointers import NullPointer, VoidPointer, address_number, cast_pointer
from hidet.frontends.script.scalars import Index, Scalar, scalar_of
from hidet.frontends.script.tensors import Pointer, Tensor
from hidet.frontends.script.types import INDEX, PointerType, element_type, plain_number
from hidet.frontends.script.vectors import Vector


# Loops.
def loop_range(*bounds: object) -> Range:
    """Make a run-time loop, for `for i in range(...)`.

    Raises:
        ScriptError: the bounds or the step are no integers.
    """
    if not 1 <= len(bounds) <= 3:
        raise ScriptError(f"range takes one to three integers, not {len(bounds)}")
    start, stop, step = {1: (0, *bounds, 1), 2: (*bounds, 1), 3: bounds}[len(bounds)]
    step = plain_number(step)
    is_integer = isinstance(step, int) and not isinstance(step, bool)
    if step == 0 if is_integer else not (isinstance(step, Scalar) and step.type.is_integer):
        raise ScriptError(
            f"the step of range is {describe(step)}",
            hint="a non-zero integer, which is positive if known only at run time",
        )
    return Range(_bound(start), _bound(stop), _bound(step))


def _bound(value: object) -> Index:
    value = plain_number(value)
    if isinstance(value, Scalar) and value.type.is_integer:
        return value
    if isinstance(value, bool) or not isinstance(value, int):
        raise ScriptError(f"a bound of range is an integer, not {describe(value)}")
    return value


def grid(*extents: object, attrs: str | None = None, bind_tuple: bool = False) -> Grid:
    """Make nested run-time loops, for `for i, j in ...`.

    Args:
        extents: the extent of each loop; or one list of them, which yields tuples. `attrs` may
            follow as the last one.
        attrs: a hint per loop, or one for all: `u` unroll, `u4` unroll by four, `u+` unroll at
            compile time, `p` run in parallel on the CPU (outermost loop only), `p4` on four
            threads, `.` none.
        bind_tuple: whether a single loop yields a tuple.

    Raises:
        ScriptError: an extent is no integer, or the hints do not match the loops.
    """
    if len(extents) == 1 and isinstance(extents[0], list | tuple):
        extents = tuple(extents[0])  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        bind_tuple = True
    if extents and isinstance(extents[-1], str):
        extents, attrs = extents[:-1], extents[-1]
    hints = _hints(attrs or ".")
    if len(hints) == 1:
        hints *= len(extents)
    if len(hints) != len(extents):
        raise ScriptError(
            f"attrs={attrs!r} has hints for {len(hints)} loops, the grid has {len(extents)}",
            hint="one 'u', 'u4', 'u+', 'p' or '.' for each loop",
        )
    loops: list[Range] = []
    for extent, hint in zip(extents, hints, strict=True):
        bound = _bound(extent)
        if hint == "u+" and not isinstance(bound, int):
            raise ScriptError(
                "the extent of a loop that is unrolled at compile time is known only at run time",
                hint="'u' leaves the unrolling to nvcc",
            )
        amount = int(hint[1:]) if hint[1:].isdigit() else hint in ("u", "p")
        unroll, parallel = (amount if hint[0] == letter else False for letter in "up")
        loops.append(Range(0, bound, 1, unroll, hint == "u+", parallel))
    return Grid(tuple(loops), bind_tuple)


_HINT = re.compile(r"u(\d+|\+)?|p\d*|\.")


def _hints(text: str) -> list[str]:
    """Split `u.u4` into the hint of each loop."""
    hints = [match[0] for match in _HINT.finditer(text)]
    if "".join(hints) != text:
        raise ScriptError(
            f"unknown hints {text!r} of a grid",
            hint="'u' unrolls a loop, 'u4' unrolls by four, 'u+' unrolls at compile time, 'p' runs "
            "it in parallel on the CPU, '.' does nothing",
        )
    return hints


def cast(v: object, dtype: object) -> object:
    """Convert a value to a type, given as such or by name.

    `cast(p, ~f16)` casts a pointer; `cast(p, u64)` is an address as an integer.
    """
    if isinstance(dtype, PointerType):
        return cast_pointer(v, dtype)
    kind = element_type(dtype)
    if isinstance(v, Pointer | VoidPointer | NullPointer) and kind.lanes == 1 and kind.bits == 64:
        return kind(0 if isinstance(v, NullPointer) else address_number(v))
    return kind(v)


def cvt(src: object, dtype: object) -> object:
    """Convert a value to a type, as `cast` does."""
    return cast(src, dtype)


def cdiv(a: object, b: object) -> object:
    """Return a / b rounded up, of non-negative integers."""
    if isinstance(a, int) and isinstance(b, int):
        return -(-a // b)
    if isinstance(b, int) and b == 1:
        return scalar_of(a, INDEX)
    return (a + (b - 1)) // b  # pyright: ignore[reportOperatorIssue, reportUnknownVariableType]


def length(value: object) -> object:
    """Return the first extent of a tensor, or the number of elements of a vector."""
    if isinstance(value, Vector):
        return len(value)
    if isinstance(value, Tensor) and value.shape:
        return value.shape[0]
    raise ScriptError(f"{describe(value)} has no length")
