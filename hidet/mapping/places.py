"""Offsets of elements in layouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hidet.mapping.factors import MappingError

if TYPE_CHECKING:
    from hidet.mapping.task_map import TaskMap


def place_in(layout: TaskMap, index: Sequence[Any]) -> Any:
    """Return the position of an element among those of its thread; indices may be symbolic."""
    if len(index) != layout.rank:
        raise MappingError(
            f"{layout} has {layout.rank} dimensions, but got {len(index)} indices",
            hint="an index per dimension is an element, a single number is a worker",
        )
    place: Any = None
    for digit in layout.repeat_digits:
        value = index[digit.dim]
        if digit.stride > 1:
            value = value // digit.stride
        if digit.stride * digit.extent < layout.shape[digit.dim]:
            value = value % digit.extent
        if digit.weight > 1:
            value = value * digit.weight
        place = value if place is None else place + value
    return 0 if place is None else place


def is_inside(layout: TaskMap, index: Sequence[Any]) -> Any:
    """Return whether an index, which may be symbolic, is within the shape."""
    inside: Any = True
    for number, extent in zip(index, layout.shape, strict=True):
        inside = (number < extent) & inside
    return inside
