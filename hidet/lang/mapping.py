"""Task mappings: `for i, j in spatial(4, 8).on(threadIdx.x)`; they come from `hidet.mapping`."""

from hidet.mapping import (
    TaskMap,
    auto_map,
    repeat,
    replicate,
    row_repeat,
    row_spatial,
    spatial,
)
from hidet.mapping import column_repeat as col_repeat
from hidet.mapping import column_spatial as col_spatial

TaskMapping = TaskMap


def chain(first: TaskMap, *others: TaskMap) -> TaskMap:
    """Return the composition of mappings, the first one outside.

    Raises:
        MappingError: their ranks differ.
    """
    for inner in others:
        first = first * inner
    return first


__all__ = [
    "TaskMap",
    "TaskMapping",
    "auto_map",
    "chain",
    "col_repeat",
    "col_spatial",
    "repeat",
    "replicate",
    "row_repeat",
    "row_spatial",
    "spatial",
]
