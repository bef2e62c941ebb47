"""Mathematics in scripts; Python's `math.exp`, `max`, `min`, `abs`, `round` are mapped to it."""

from collections.abc import Callable
from typing import Any

from hidet.absent import missing
from hidet.frontends.script.mathematics import MATH_FUNCTIONS

__all__ = sorted(MATH_FUNCTIONS)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Callable[..., Any]:
    """Return a function by name."""
    if name not in MATH_FUNCTIONS:
        raise missing(__name__, name)
    return MATH_FUNCTIONS[name]


def __dir__() -> list[str]:
    return __all__
