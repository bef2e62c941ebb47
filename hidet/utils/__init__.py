"""Names of the original Hidet's `hidet.utils` that programs around scripts use."""

from collections.abc import Iterable
from math import prod as _prod

from hidet.utils.benchmark import benchmark_func


def cdiv(n: int, d: int) -> int:
    """Return n / d rounded up."""
    return -(-n // d)


def prod(values: Iterable[int]) -> int:
    """Return the product of some integers, 1 of none."""
    return _prod(values)


__all__ = ["benchmark_func", "cdiv", "prod"]
