"""The operators of Python's syntax, as functions; those of scalars write IR."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

from hidet.frontends.script.pointers import are_equal
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


def equal(one: Any, other: Any) -> Any:
    """Compute `one == other`; of pointers, and of one and None, by their addresses."""
    found = are_equal(one, other)
    return operator.eq(one, other) if found is None else found


def _not_equal(one: Any, other: Any) -> Any:
    """Compute `one != other`."""
    found = are_equal(one, other)
    return operator.ne(one, other) if found is None else opposite(found)


def is_same(one: Any, other: Any) -> Any:
    """Compute `one is other`; of a pointer and None by its address."""
    found = are_equal(one, other) if one is None or other is None else None
    return operator.is_(one, other) if found is None else found


COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: equal,
    ast.NotEq: _not_equal,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: is_same,
    ast.IsNot: lambda one, other: opposite(is_same(one, other)),
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
