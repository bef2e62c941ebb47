"""The operators of Python's syntax, as functions; those of scalars write IR."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

from hidet.frontends.script.values import Scalar


def is_in(value: Any, values: Any) -> Any:
    """Compute `value in values`; a scalar is compared with each of them."""
    if isinstance(values, list | tuple | set | frozenset):
        each: list[Any] = list(values)  # pyright: ignore[reportUnknownArgumentType]
        if each and any(isinstance(one, Scalar) for one in (value, *each)):
            return reduce(lambda one, other: one | other, [value == one for one in each])
    return operator.contains(values, value)  # pyright: ignore[reportUnknownArgumentType]


def opposite(value: Any) -> Any:
    """Compute `not value`."""
    return value.emitter.unary("not", value) if isinstance(value, Scalar) else not value


BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
"""Binary operators of Python; those of scalars write IR."""

COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: is_in,
    ast.NotIn: lambda value, values: opposite(is_in(value, values)),
}
"""Comparisons of Python."""

UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
"""Unary operators of Python but `not`, which cannot be overloaded."""
