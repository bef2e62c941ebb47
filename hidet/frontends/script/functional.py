"""Operators as functions: those of Python's syntax, and `logical_and(a, b)` for `a and b`."""

import ast
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

from hidet.errors import ScriptError
from hidet.frontends.script.messages import describe
from hidet.frontends.script.pointers import (
    NullPointer,
    VoidPointer,
    address_number,
    are_equal,
    cast_pointer,
)
from hidet.frontends.script.scalars import Scalar, binary, convert, scalar_of, select, unary
from hidet.frontends.script.tensors import Pointer, Tensor, first_address, load_at
from hidet.frontends.script.types import BOOL, INDEX, PointerType, element_type, scalar_type
from hidet.frontends.script.vectors import Vector


def if_then_else(condition: object, then: object, otherwise: object) -> object:
    """Return one of two values; both are evaluated, unlike by `a if c else b`."""
    if not isinstance(condition, Scalar):
        return then if condition else otherwise
    return select(condition, then, otherwise)


def logical_and(*values: object) -> object:
    """Return whether all values are true; all are evaluated, unlike by `and`."""
    return reduce(lambda one, other: _logic("&", one, other), values, True)


def logical_or(*values: object) -> object:
    """Return whether any value is true; all are evaluated, unlike by `or`."""
    return reduce(lambda one, other: _logic("|", one, other), values, False)


def _logic(operator: str, one: object, other: object) -> object:
    for known, rest in ((one, other), (other, one)):
        if not isinstance(known, Scalar):
            decided = bool(known) == (operator == "|")
            return bool(known) if decided else _as_bool(rest)
    return binary(operator, _as_bool(one), _as_bool(other))


def _as_bool(value: object) -> object:
    return convert(value, BOOL) if isinstance(value, Scalar) else bool(value)


def logical_not(a: object) -> object:
    """Return the negation of a condition."""
    return unary("not", a) if isinstance(a, Scalar) else not a


def bitwise_not(a: object) -> object:
    """Return the bitwise complement of an integer."""
    return unary("~", a) if isinstance(a, Scalar) else ~a  # pyright: ignore[reportOperatorIssue, reportUnknownVariableType]


def constant(value: float, dtype: object) -> Scalar:
    """Return a constant of a type, as `f16(1.0)` does."""
    return scalar_type(dtype)(value)


def is_constant(*values: object) -> bool:
    """Return whether all values are compile-time constants."""
    return not any(isinstance(value, Scalar | Tensor | Pointer) for value in values)


def address(v: object) -> Pointer:
    """Return the address of an element, `address(x[i])`, or of a tensor's first element."""
    pointer = first_address(v)
    if not isinstance(pointer, Pointer):
        raise ScriptError(f"{describe(v)} has no address", hint="an element has one: address(x[i])")
    return pointer


def deref(v: object) -> Scalar:
    """Load the element at a pointer, as `p[0]` does."""
    if not isinstance(v, Pointer):
        raise ScriptError(f"{describe(v)} is no pointer", hint="the address of an element")
    return load_at(v)


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


def is_in(value: Any, values: Any) -> Any:
    """Compute `value in values`; scalars are compared with each value."""
    if isinstance(values, list | tuple | set | frozenset):
        each: list[Any] = list(values)  # pyright: ignore[reportUnknownArgumentType]
        if each and any(isinstance(one, Scalar) for one in (value, *each)):
            return reduce(lambda one, other: one | other, [value == one for one in each])
    return operator.contains(values, value)  # pyright: ignore[reportUnknownArgumentType]


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
"""Python's binary operators; on scalars they build IR."""


def equal(one: Any, other: Any) -> Any:
    """Compute `one == other`; of pointers by address."""
    found = are_equal(one, other)
    return operator.eq(one, other) if found is None else found


def _not_equal(one: Any, other: Any) -> Any:
    found = are_equal(one, other)
    return operator.ne(one, other) if found is None else logical_not(found)


def is_same(one: Any, other: Any) -> Any:
    """Compute `one is other`; of a pointer and None by address."""
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
    ast.IsNot: lambda one, other: logical_not(is_same(one, other)),
    ast.In: is_in,
    ast.NotIn: lambda value, values: logical_not(is_in(value, values)),
}

UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: logical_not,
}

__all__ = ["address", "bitwise_not", "constant", "deref", "if_then_else", "is_constant"]
__all__ += ["logical_and", "logical_not", "logical_or"]
