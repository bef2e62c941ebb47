"""Task mappings from `hidet.mapping`: `for i, j in spatial(4, 8).on(threadIdx.x)`."""

from collections.abc import Sequence

from hidet.absent import explain_missing
from hidet.mapping import TaskMap, auto_map, repeat, replicate, row_repeat, row_spatial, spatial
from hidet.mapping import column_repeat as col_repeat
from hidet.mapping import column_spatial as col_spatial


class TaskMapping(TaskMap):
    """Constructors of mappings by the names of the original Hidet; each returns a `TaskMap`."""

    @staticmethod
    def row_major(task_shape: Sequence[int]) -> TaskMap:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return `row_spatial`: one task per worker."""
        return row_spatial(*task_shape)

    @staticmethod
    def column_major(task_shape: Sequence[int]) -> TaskMap:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return `col_spatial`: one task per worker."""
        return col_spatial(*task_shape)

    @staticmethod
    def full_layout(task_shape: Sequence[int]) -> TaskMap:
        """Return `repeat`: one worker executes all tasks."""
        return repeat(*task_shape)


def chain(first: TaskMap, *others: TaskMap) -> TaskMap:
    """Return the composition of mappings, the first one outermost.

    Raises:
        MappingError: their ranks differ.
    """
    for inner in others:
        first = first * inner
    return first


explain_missing(__name__)

__all__: list[str] = ["TaskMap", "TaskMapping", "auto_map", "chain", "col_repeat", "col_spatial"]
__all__ += ["repeat", "replicate", "row_repeat", "row_spatial", "spatial"]
