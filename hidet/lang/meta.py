"""Loops of Python in scripts, whose bodies are written once for each value; lists of types."""

import builtins
from collections.abc import Iterable
from typing import TypeVar

from hidet.absent import explain_missing
from hidet.frontends.script.parameters import TypeList as types

Value = TypeVar("Value")


def range(start: int, stop: int | None = None, step: int = 1) -> tuple[int, ...]:
    """Return the numbers of Python's `range`, as numbers that are known in the script."""
    first, last = (0, start) if stop is None else (start, stop)
    return tuple(builtins.range(first, last, step))


def each(values: Iterable[Value]) -> tuple[Value, ...]:
    """Return some values, to go through in a script."""
    return tuple(values)


explain_missing(__name__)

__all__ = ["each", "range", "types"]
