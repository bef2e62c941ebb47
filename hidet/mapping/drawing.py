"""Text pictures of task mappings."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hidet.mapping.task_map import TaskMap


def draw(tasks: TaskMap, limit: int = 32) -> str:
    """Return a picture as text: the owner and register of each element, and a legend.

    At most `limit` rows and columns are drawn; more are shown as `..`.
    """
    *outer, last = tasks.shape or (1,)
    rows = outer[-1] if outer else 1
    extents = (rows, last) if outer else (last,)
    blocks = [
        (f"at {place}:\n" if place else "")
        + draw_table(lambda last, place=place: _cell(tasks, (*place, *last)), extents, limit)
        for place in product(*map(range, outer[:-1]))
    ]
    return "\n\n".join([*blocks, _legend(tasks)])


def draw_table(cell: Callable[[tuple[int, ...]], str], extents: tuple[int, ...], limit: int) -> str:
    """Return a table of one or two dimensions as text, with row and column numbers."""
    *outer, columns = extents
    rows = outer[0] if outer else 1
    shown_rows, shown_columns = min(rows, limit), min(columns, limit)
    matrix = [
        [cell((i, j) if outer else (j,)) for j in range(shown_columns)] for i in range(shown_rows)
    ]
    width = max((len(text) for row in matrix for text in row), default=1)
    label = len(str(shown_rows - 1))
    end = " .." if shown_columns < columns else ""
    lines = [f"{'':>{label}}  {' '.join(f'{j:>{width}}' for j in range(shown_columns))}{end}"]
    for i, row in enumerate(matrix):
        name = i if outer else ""
        lines.append(f"{name:>{label}}  {' '.join(f'{text:>{width}}' for text in row)}{end}")
    if shown_rows < rows:
        lines.append(f"{'..':>{label}}")
    return "\n".join(lines)


def _cell(tasks: TaskMap, task: tuple[int, ...]) -> str:
    """Return the text of an element: its workers and register."""
    owners = tasks.owners(task)
    shown = owners if len(owners) <= 3 else (owners[0], "..", owners[-1])
    workers = "|".join(map(str, shown))
    has_registers = tasks.tasks_per_worker > 1
    return f"{workers}:{tasks.register_index(task)}" if has_registers else workers


def _legend(tasks: TaskMap) -> str:
    shape = " x ".join(map(str, tasks.shape))
    lines = [
        f"{tasks}",
        f"{shape} tasks, {tasks.workers} workers with {tasks.tasks_per_worker} tasks each",
    ]
    if tasks.tasks_per_worker > 1:
        lines.append("w:r   worker w holds the element in its register r (its r-th task)")
    else:
        lines.append("w     worker w holds the element")
    if tasks.owners([0] * len(tasks.shape)) != [0]:
        lines.append("v|w   workers v and w hold it both")
    return "\n".join(lines)
