"""Names of the original Hidet's `hidet.utils` that programs around scripts use."""

from math import prod
from typing import Any

import torch as _torch

from hidet.absent import explain_missing
from hidet.foreign import plain
from hidet.original import show_elsewhere
from hidet.utils.benchmark import benchmark_func


def cdiv(n: int, d: int) -> int:
    """Return n / d rounded up."""
    return -(-n // d)


def assert_close(actual: Any, expected: Any, rtol: float = 1e-5, atol: float = 1e-5) -> None:
    """Check that two tensors, of hidet or torch, or arrays, are nearly the same.

    Raises:
        AssertionError: an element differs by more than `atol + rtol * |expected|`.
    """
    one, other = (_torch.asarray(plain(value)).cpu() for value in (actual, expected))
    _torch.testing.assert_close(one, other, rtol=rtol, atol=atol)


show_elsewhere(__name__, {"py": ["hidet.utils"]})

explain_missing(__name__)

__all__ = ["assert_close", "benchmark_func", "cdiv", "prod"]
