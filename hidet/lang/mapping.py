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

__all__ = [
    "TaskMap",
    "auto_map",
    "col_repeat",
    "col_spatial",
    "repeat",
    "replicate",
    "row_repeat",
    "row_spatial",
    "spatial",
]
