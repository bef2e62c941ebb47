"""Argument binding of calls, and tuple unpacking."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hidet.errors import ScriptError
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import Scalar
from hidet.frontends.script.source import Source
from hidet.frontends.script.tensors import Pointer, Tensor


@dataclass(frozen=True)
class Signature:
    """The parameters of a function.

    Attributes:
        names: the positional parameters.
        rest: the name of `*args`, or None.
        named: the keyword-only parameters.
        defaults: the default values.
    """

    names: tuple[str, ...]
    rest: str | None = None
    named: tuple[str, ...] = ()
    defaults: Mapping[str, object] = field(default_factory=dict[str, object])

    @staticmethod
    def of(source: Source, node: ast.arguments, defaults: Mapping[str, object]) -> Signature:
        """Return the signature of a syntax tree."""
        if node.kwarg is not None:
            raise source.error(
                node.kwarg,
                f"a function of a script has no '**{node.kwarg.arg}'",
                "name each parameter, or take a dictionary as one",
            )
        names = tuple(each.arg for each in (*node.posonlyargs, *node.args))
        rest = None if node.vararg is None else node.vararg.arg
        return Signature(names, rest, tuple(each.arg for each in node.kwonlyargs), defaults)

    def bind(
        self, what: str, values: Sequence[object], keywords: Mapping[str, object]
    ) -> dict[str, object]:
        """Return the value of each parameter in a call; `*args` is a tuple."""
        count = len(self.names)
        if len(values) > count and self.rest is None:
            raise ScriptError(f"{what} takes {count} arguments, not {len(values)}")
        bound = dict(zip(self.names, values, strict=False))
        for name, value in keywords.items():
            if name not in (*self.names, *self.named):
                raise ScriptError(
                    f"{what} has no parameter '{name}'",
                    hint=f"it has {', '.join((*self.names, *self.named)) or 'none'}",
                )
            if name in bound:
                raise ScriptError(f"{what} gets the parameter '{name}' twice")
            bound[name] = value
        complete: dict[str, object] = {}
        for name in (*self.names, *self.named):
            if name not in bound and name not in self.defaults:
                raise ScriptError(f"{what} gets no value for the parameter '{name}'")
            complete[name] = bound[name] if name in bound else self.defaults[name]
        if self.rest is not None:
            complete[self.rest] = tuple(values[count:])
        return complete


def evaluated_defaults(
    node: ast.arguments, evaluate: Callable[[ast.expr], object]
) -> dict[str, object]:
    """Return the values of the defaults, by parameter."""
    names = [each.arg for each in (*node.posonlyargs, *node.args)]
    first = len(names) - len(node.defaults)
    defaults = dict(zip(names[first:], map(evaluate, node.defaults), strict=True))
    for each, value in zip(node.kwonlyargs, node.kw_defaults, strict=True):
        if value is not None:
            defaults[each.arg] = evaluate(value)
    return defaults


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
