"""Functions of a script: loops, mathematics, and what stands for Python's own functions."""

from __future__ import annotations

import builtins
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hidet.errors import ScriptError
from hidet.frontends.script.iterables import Grid, Range, Tasks, task_of
from hidet.frontends.script.mathematics import (
    MATH_FUNCTIONS,
    absolute,
    maximum,
    minimum,
    power,
    rounded,
)
from hidet.frontends.script.pointers import address_number, cast_pointer
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import (
    F32,
    INDEX,
    PointerType,
    ScalarType,
    check_shape,
    plain_number,
    scalar_type,
    vector_type,
)
from hidet.frontends.script.values import Index, Pointer, Scalar, Tensor, VoidPointer, describe
from hidet.frontends.script.vectors import Vector
from hidet.mapping import TaskMap

_OF_THE_KERNEL = Scalar | Tensor | Pointer | Vector


@dataclass(frozen=True)
class Substitute:
    """What is called instead of a function of Python.

    Attributes:
        function: what is called.
        always: also where all arguments are known when the script is defined.
    """

    function: Callable[..., object]
    always: bool = False

    def applies(self, arguments: Sequence[object]) -> bool:
        """Whether it is called with these arguments."""
        return self.always or any(isinstance(each, _OF_THE_KERNEL) for each in arguments)


# Loops.
def loop_range(*bounds: object) -> Range:
    """Make a loop of the kernel, for `for i in range(...)`.

    Raises:
        ScriptError: the bounds are no integers, or the step is not known when the script is
            defined.
    """
    if not 1 <= len(bounds) <= 3:
        raise ScriptError(f"range takes one to three integers, not {len(bounds)}")
    start, stop, step = {1: (0, *bounds, 1), 2: (*bounds, 1), 3: bounds}[len(bounds)]
    step = plain_number(step)
    is_integer = isinstance(step, int) and not isinstance(step, bool)
    if step == 0 if is_integer else not (isinstance(step, Scalar) and step.type.is_integer):
        raise ScriptError(
            f"the step of range is {describe(step)}",
            hint="it is an integer other than 0, and positive where it is known only when the "
            "kernel runs",
        )
    return Range(_bound(start), _bound(stop), _bound(step))


def _bound(value: object) -> Index:
    value = plain_number(value)  # functions of Python that scripts call may pass those of numpy
    if isinstance(value, Scalar) and value.type.is_integer:
        return value
    if isinstance(value, bool) or not isinstance(value, int):
        raise ScriptError(f"a bound of range is an integer, not {describe(value)}")
    return value


def grid(*extents: object, attrs: str | None = None, bind_tuple: bool = False) -> Grid:
    """Make nested loops of the kernel, for `for i, j in ...`.

    Args:
        extents: the extent of each loop; or one list of them, which gives tuples; the hints may
            follow as the last one.
        attrs: for each loop `u` to unroll it, `u4` to unroll four iterations, `u+` to write its
            body once for each number, which is then known there, `p` for the cores of the CPU
            to share its iterations (the outermost of nested loops), `p4` for four threads,
            `.` for nothing; one hint is that of all loops.
        bind_tuple: whether a single loop gives a tuple of one index.

    Raises:
        ScriptError: an extent is no integer, or the hints do not belong to the loops.
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
                "the extent of a loop that is unrolled at once is known only when the kernel runs",
                hint="'u' leaves the unrolling to the compiler of CUDA",
            )
        amount = int(hint[1:]) if hint[1:].isdigit() else hint in ("u", "p")
        unroll, parallel = (amount if hint[0] == letter else False for letter in "up")
        loops.append(Range(0, bound, 1, unroll, hint == "u+", parallel))
    return Grid(tuple(loops), bind_tuple)


_HINT = re.compile(r"u(\d+|\+)?|p\d*|\.")


def _hints(text: str) -> list[str]:
    """Read `u.u4`: the hint of each loop."""
    hints = [match[0] for match in _HINT.finditer(text)]
    if "".join(hints) != text:
        raise ScriptError(
            f"the hints {text!r} of a grid are not known",
            hint="'u' unrolls a loop, 'u4' unrolls four iterations, 'u+' writes the body once for "
            "each number, 'p' shares it among the cores of the CPU, '.' leaves it as it is",
        )
    return hints


WORKER_METHODS = ("on", "map", "single_task_of", "tasks_of", "worker2task")
"""The methods of task mappings that take a worker."""


def tasks_of(
    tasks: TaskMap,
    name: str,
    worker: object,
    *,
    bind_tuple: bool = False,
    bound: object = None,
    tile: Tensor | None = None,
) -> object:
    """Return what `for i, j in tasks.on(worker)` goes through, or the task `tasks.map(worker)`.

    Args:
        tasks: the mapping.
        name: one of `WORKER_METHODS`.
        worker: the worker.
        bind_tuple: whether tasks of one dimension are tuples too.
        bound: tasks outside of these extents are left out.
        tile: a register tile with this layout, whose elements are meant.

    Raises:
        ScriptError: the worker is no integer, or the bound does not belong to the mapping.
    """
    extents, is_one = None, name in ("map", "single_task_of") and tasks.tasks_per_worker == 1
    if bound is not None:
        extents = check_shape(tuple(bound) if isinstance(bound, list | tuple) else (bound,))  # pyright: ignore[reportUnknownArgumentType]
        if len(extents) != tasks.rank:
            raise ScriptError(
                f"{len(extents)} bounds for the mapping {tasks} of {tasks.rank} dimensions",
                hint="give one for each dimension: bound=[m, n]",
            )
    if isinstance(worker, int) and not isinstance(worker, bool) and tile is None:
        known = tasks.on(worker, bound=extents)
        return known[0] if is_one else known
    if tile is not None and isinstance(worker, int):
        worker = current("on").scalar_of(worker)
    if not isinstance(worker, Scalar) or not worker.type.is_integer:
        raise ScriptError(
            f"the worker of a task mapping is an integer, not {describe(worker)}",
            hint="such as threadIdx.x",
        )
    if is_one:
        return task_of(tasks, worker, 0)
    return Tasks(tasks, worker, bind_tuple, extents, tile)


def cast(value: object, kind: object) -> object:
    """Convert a value to a type, given as such or by name.

    `cast(p, ~f16)` is a pointer to the same place; `cast(p, u64)` is an address as a number.

    Raises:
        ScriptError: there is no such type, or the value cannot be converted to it.
    """
    if isinstance(kind, PointerType):
        return cast_pointer(value, kind)
    vector = vector_type(kind)
    if vector is not None:
        return vector(value)
    if isinstance(value, Pointer | VoidPointer) and scalar_type(kind).bits == 64:
        emitter = current("cast")
        return emitter.cast(address_number(emitter, value), scalar_type(kind))
    return scalar_type(kind)(value)  # pyright: ignore[reportArgumentType]


def cvt(src: object, dtype: object) -> object:
    """Convert a value to a type, as `cast` does."""
    return cast(src, dtype)


def convert(kind: ScalarType) -> Callable[[Scalar], Scalar]:
    """Return the conversion to a type, for Python's `int(x)`, `float(x)` and `bool(x)`."""
    return lambda value: current(kind.name).cast(value, kind)


def cdiv(a: object, b: object) -> object:
    """Return a / b rounded up, for numbers that are not negative."""
    if isinstance(a, int) and isinstance(b, int):
        return -(-a // b)
    emitter = current("cdiv")
    if isinstance(b, int) and b == 1:
        return emitter.scalar_of(a, INDEX)
    return (a + (b - 1)) // b  # pyright: ignore[reportOperatorIssue, reportUnknownVariableType]


def length(value: object) -> object:
    """Return the first extent of a tensor, or the number of elements of a vector."""
    if isinstance(value, Vector):
        return len(value)
    if isinstance(value, Tensor) and value.shape:
        return value.shape[0]
    raise ScriptError(f"{describe(value)} has no length")


SUBSTITUTES: dict[object, Substitute] = {
    range: Substitute(loop_range, always=True),
    max: Substitute(maximum),
    min: Substitute(minimum),
    abs: Substitute(absolute),
    round: Substitute(rounded),
    pow: Substitute(power),
    len: Substitute(length),
    int: Substitute(convert(scalar_type("i32"))),
    float: Substitute(convert(F32)),
    bool: Substitute(convert(scalar_type("bool"))),
    math.fabs: Substitute(absolute),
    math.remainder: Substitute(MATH_FUNCTIONS["ieee_remainder"]),
    **{
        getattr(math, name): Substitute(function)
        for name, function in MATH_FUNCTIONS.items()
        if hasattr(math, name)
    },
}
"""For functions of Python what is called in their place."""


def substituted(
    function: Callable[..., object], arguments: Sequence[object]
) -> Callable[..., object]:
    """Return what is called for a function with these arguments: itself, or its substitute."""
    is_hashable = getattr(type(function), "__hash__", None) is not None
    substitute = SUBSTITUTES.get(function) if is_hashable else None
    if substitute is None or not substitute.applies(arguments):
        return function
    return substitute.function


FORBIDDEN = frozenset({"eval", "exec", "open", "input", "print", "__import__"})
"""Names of Python's builtins that mean nothing in a kernel."""

PYTHON_BUILTINS = {
    name: value
    for name, value in vars(builtins).items()
    if not name.startswith("_") and name not in FORBIDDEN
}
"""The builtins of Python that scripts see."""
