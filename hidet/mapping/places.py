"""The place of an element in memory that a layout gives it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hidet.mapping.factors import MappingError

if TYPE_CHECKING:
    from hidet.mapping.task_map import TaskMap


def place_in(layout: TaskMap, index: Sequence[Any]) -> Any:
    """Return the place of an element among those that its thread holds, counted in elements.

    Args:
        layout: the layout.
        index: one number for each dimension, or what stands for numbers in a program and has the
            same operators; the place is then one too.

    Raises:
        MappingError: there are more numbers than dimensions, or fewer.
    """
    if len(index) != layout.rank:
        raise MappingError(
            f"{layout} has {layout.rank} dimensions, and got an index of {len(index)}",
            hint="one number for each dimension gives a place, a single one the tasks of a worker",
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
    """Return whether an index lies inside of the shape; of numbers, or of what stands for them."""
    inside: Any = True
    for number, extent in zip(index, layout.shape, strict=True):
        inside = (number < extent) & inside
    return inside
