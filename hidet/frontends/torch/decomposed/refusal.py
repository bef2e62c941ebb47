"""Calls that are not decomposed: torch's own operator computes them."""

from collections.abc import Callable
from functools import wraps
from typing import Any


class _Refusal(Exception):
    """A decomposition does not support a call."""


def require(holds: bool) -> None:
    """Refuse the call that is being decomposed unless a condition holds."""
    if not holds:
        raise _Refusal


def refusing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a decomposition that is `NotImplemented` for calls that are refused."""

    @wraps(function)
    def decomposition(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except _Refusal:
            return NotImplemented

    return decomposition
