"""Compile-time loops and type lists of scripts."""

import builtins
from collections.abc import Iterable
from typing import TypeVar

from hidet.absent import explain_missing
from hidet.frontends.script.launches import TypeList as types

Value = TypeVar("Value")


def range(start: int, stop: int | None = None, step: int = 1) -> tuple[int, ...]:
    """Return the values of Python's `range` as compile-time integers."""
    first, last = (0, start) if stop is None else (start, stop)
    return tuple(builtins.range(first, last, step))


def each(values: Iterable[Value]) -> tuple[Value, ...]:
    """Return values to be iterated over at compile time."""
    return tuple(values)


explain_missing(__name__)

__all__ = ["each", "range", "types"]
