"""Argument binding of calls, and tuple unpacking."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence

from hidet.errors import ScriptError
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import Scalar
from hidet.frontends.script.source import Source
from hidet.frontends.script.tensors import Pointer, Tensor


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
