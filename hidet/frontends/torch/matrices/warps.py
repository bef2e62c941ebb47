"""What the kernels for matrices share: the warp, copies into shared memory, sums over lanes."""

from collections.abc import Callable
from typing import Any

from hidet.lang import f32, f64
from hidet.lang.cuda import shfl_xor_sync

LANES = 32
ALL = 0xFFFFFFFF
TYPES: dict[str, Any] = {"float32": f32, "float64": f64}
"""The types of elements, by their names."""


def pitch(columns: int) -> int:
    """Return the distance of rows in shared memory: odd, so that a column is in different banks."""
    return columns | 1


def over_lanes(value: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """Return the combination of the values of all lanes, in each of them; part of a script."""
    for mask in [16, 8, 4, 2, 1]:
        value = combine(value, shfl_xor_sync(ALL, value, mask))
    return value
