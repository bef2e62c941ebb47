"""Common parts of the kernels for matrices."""

from collections.abc import Callable
from typing import Any

from hidet.lang import f32, f64
from hidet.lang.cuda import shfl_xor_sync

LANES = 32
ALL = 0xFFFFFFFF
TYPES: dict[str, Any] = {"float32": f32, "float64": f64}
"""The element types by name."""


def pitch(columns: int) -> int:
    """Return the row pitch in shared memory: odd, to avoid bank conflicts along a column."""
    return columns | 1


def over_lanes(value: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """Return the reduction of the values of all lanes, in each of them; part of a script."""
    for mask in [16, 8, 4, 2, 1]:
        value = combine(value, shfl_xor_sync(ALL, value, mask))
    return value
