"""Calls in scripts: binding of arguments, and Python functions and attributes."""

import ast
import builtins
import difflib
import inspect
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

from hidet.errors import ScriptError
from hidet.frontends.script.functional import length, logical_and, logical_or
from hidet.frontends.script.iterables import loop_range
from hidet.frontends.script.mathematics import MATH_FUNCTIONS, maximum, minimum, power
from hidet.frontends.script.messages import Source, describe
from hidet.frontends.script.scalars import Scalar
from hidet.frontends.script.tensors import Pointer, Tensor
from hidet.frontends.script.types import BOOL, F32, I32, SCALAR_TYPES
from hidet.frontends.script.vectors import Vector


def signature_of(
    source: Source, node: ast.arguments, defaults: Mapping[str, object]
) -> inspect.Signature:
    """Return the signature of a syntax tree; positional-only parameters may be named, too."""
    if node.kwarg is not None:
        raise source.error(
            node.kwarg,
            f"a function of a script has no '**{node.kwarg.arg}'",
            "name each parameter, or take a dictionary as one",
        )
    groups = (
        ((*node.posonlyargs, *node.args), inspect.Parameter.POSITIONAL_OR_KEYWORD),
        ((node.vararg,) if node.vararg else (), inspect.Parameter.VAR_POSITIONAL),
        (node.kwonlyargs, inspect.Parameter.KEYWORD_ONLY),
    )
    empty = inspect.Parameter.empty
    return inspect.Signature(
        [
            inspect.Parameter(each.arg, kind, default=defaults.get(each.arg, empty))
            for group, kind in groups
            for each in group
        ]
    )


def bind(
    what: str, signature: inspect.Signature, values: Sequence[object], named: Mapping[str, object]
) -> dict[str, object]:
    """Return the value of each parameter in a call; `*args` is a tuple."""
    try:
        bound = signature.bind(*values, **named)
    except TypeError as error:
        names = ", ".join(signature.parameters) or "none"
        raise ScriptError(f"{what}: {error}", hint=f"its parameters are {names}") from error
    bound.apply_defaults()
    return bound.arguments


def call(
    function: Callable[..., object], values: Sequence[object], named: Mapping[str, object]
) -> object:
    """Call a Python function; an error names its parameters if the arguments do not fit them."""
    try:
        return function(*values, **named)
    except TypeError as error:
        try:
            signature = inspect.signature(function)
        except ValueError:
            raise error from None  # a builtin without a signature
        bind(f"'{function.__name__}'", signature, values, named)
        raise


def evaluated_defaults(
    node: ast.arguments, evaluate: Callable[[ast.expr], object]
) -> dict[str, object]:
    """Return the values of the defaults, by parameter."""
    plain = [*node.posonlyargs, *node.args]
    optional = [*plain[len(plain) - len(node.defaults) :], *node.kwonlyargs]
    defaults = zip(optional, [*node.defaults, *node.kw_defaults], strict=True)
    return {each.arg: evaluate(value) for each, value in defaults if value is not None}


def unpack(value: object, targets: Sequence[ast.expr]) -> list[tuple[ast.expr, object]]:
    """Return the targets of a tuple assignment, each with its value."""
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


LIBRARIES = ("math", "cmath", "numpy", "torch", "torch.nn.functional", "random")
"""Libraries whose functions take no run-time values."""

MAX_LISTED = 40
"""The most names that an error lists."""

_REPLACEMENTS = {
    "absolute": "abs",
    "arccos": "acos",
    "arcsin": "asin",
    "arctan": "atan",
    "arctan2": "atan2",
    "clamp": "max(low, min(x, high))",
    "clip": "max(low, min(x, high))",
    "fabs": "abs",
    "frexp": "(reinterpret(x, i32) >> 23 & 255) - 126, the exponent of an f32",
    "isclose": "abs(a - b) <= 1e-9 * max(abs(a), abs(b))",
    "maximum": "max",
    "minimum": "min",
    "modf": "x - trunc(x), trunc(x)",
    "power": "pow",
    "relu": "max(x, 0.0)",
    "sigmoid": "1.0 / (1.0 + exp(-x))",
    "ulp": "nextafter(abs(x), inf) - abs(x)",
    "where": "a if c else b",
}
"""Replacements of library functions that scripts have under another name."""


def _of_list(function: Callable[..., object]) -> Callable[[Iterable[object]], object]:
    """Return a function that takes the operands of another one as a list."""
    return lambda values: function(*values)


SUBSTITUTES: dict[object, Callable[..., object]] = {
    range: loop_range,
    any: _of_list(logical_or),
    all: _of_list(logical_and),
    max: maximum,
    min: minimum,
    round: MATH_FUNCTIONS["round"],
    pow: power,
    len: length,
    int: I32,
    float: F32,
    bool: BOOL,
    math.fabs: abs,
    math.remainder: MATH_FUNCTIONS["ieee_remainder"],
    **{
        getattr(math, name): function
        for name, function in MATH_FUNCTIONS.items()
        if hasattr(math, name)
    },
}
"""What Python functions are replaced with if an argument is a run-time value; `range` always."""

PYTHON_BUILTINS = {
    name: value
    for name, value in vars(builtins).items()
    if name not in ("eval", "exec", "open", "input", "print") and not name.startswith("_")
}


def substitute_for(
    function: Callable[..., object], arguments: Sequence[object]
) -> Callable[..., object]:
    """Return what to call: the function, or its substitute for run-time values."""
    lists = [cast("list[object]", each) if type(each) is list else [each] for each in arguments]
    values = Scalar | Tensor | Pointer | Vector
    given = [each for parts in lists for each in parts if isinstance(each, values)]
    is_hashable = getattr(type(function), "__hash__", None) is not None
    if is_hashable and function in SUBSTITUTES and (given or function is range):
        return SUBSTITUTES[function]
    name = getattr(function, "__name__", None)
    for library in LIBRARIES if given and isinstance(name, str) else ():
        if vars(sys.modules.get(library, object)).get(str(name)) is function:
            raise ScriptError(
                f"{library}.{name} runs at compile time, and got {describe(given[0])}",
                hint=_hint(str(name)),
            )
    return function


def _hint(name: str) -> str:
    """Return what to write instead of a library function."""
    if name in SCALAR_TYPES:
        return f"convert it by hidet.lang.{SCALAR_TYPES[name]}(x)"
    other = _REPLACEMENTS.get(name, name)
    if other in MATH_FUNCTIONS:
        return f"use hidet.lang.math.{other}"
    if name in _REPLACEMENTS:
        return f"write {other}"
    near = difflib.get_close_matches(name, MATH_FUNCTIONS, 1, 0.75)
    if near:
        return f"hidet.lang.math has {near[0]}"
    return f"hidet.lang.math has {', '.join(sorted(MATH_FUNCTIONS))}"


def python_attribute(base: object, name: str) -> object:
    """Return an attribute of a Python value; the error suggests similar names."""
    try:
        return getattr(base, name)
    except AttributeError as error:
        if "has no attribute" not in str(error):
            raise  # raised by the attribute itself
    found: Sequence[str] = getattr(base, "__all__", dir(base))
    names = [each for each in found if not each.startswith("_") and each != "name"]
    near = difflib.get_close_matches(name, names, 1)
    hint = None
    if near:
        hint = f"did you mean '{near[0]}'?"
    elif 0 < len(names) <= MAX_LISTED:
        hint = f"it has {', '.join(names)}"
    called = getattr(base, "name", None)
    what = called if called in _IDS else describe(base)
    raise ScriptError(f"{what} has no attribute '{name}'", hint=hint)


_IDS = ("threadIdx", "blockIdx", "blockDim", "gridDim")
