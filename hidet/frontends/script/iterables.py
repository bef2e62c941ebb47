"""What the loops of a script go over: ranges, grids, tasks of a mapping, groups of warps."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace

from hidet.errors import ScriptError
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import Index, Scalar, is_integer, scalar_of
from hidet.frontends.script.tensors import Tensor
from hidet.frontends.script.types import check_shape
from hidet.mapping import TaskMap


@dataclass(frozen=True)
class Range:
    """`range(start, stop, step)` with bounds that may be known only when the kernel runs.

    Attributes:
        start: the first number.
        stop: the end, which is not reached.
        step: from one number to the next; positive where it is known only when the kernel runs.
        unroll: whether the compiler of CUDA unrolls the loop, or so many iterations of it.
        at_once: whether the body is traced for each number, which is then known in it.
        parallel: whether the cores of the CPU, or how many threads, share the iterations.
    """

    start: Index
    stop: Index
    step: Index
    unroll: bool | int = False
    at_once: bool = False
    parallel: bool | int = False

    @property
    def is_known(self) -> bool:
        """Whether Python knows the numbers."""
        return all(isinstance(bound, int) for bound in (self.start, self.stop, self.step))

    def __repr__(self) -> str:
        return f"range({self.start}, {self.stop}, {self.step})"

    def __iter__(self) -> Iterator[int]:
        """Go through the numbers in Python, where they are known."""
        return iter(
            range(operator.index(self.start), operator.index(self.stop), operator.index(self.step))
        )

    def __reversed__(self) -> Range:
        """Return the numbers from the last one to the first."""
        if self.is_known:
            numbers = range(*map(operator.index, (self.start, self.stop, self.step)))[::-1]
            return replace(self, start=numbers.start, stop=numbers.stop, step=numbers.step)
        if not isinstance(self.step, int) or self.step != 1:
            raise ScriptError(
                "a range with a step goes backwards where its bounds are known only when the "
                "kernel runs",
                hint="go through range(n), and compute the number from it",
            )
        return replace(self, start=self.stop - 1, stop=self.start - 1, step=-1)


@dataclass(frozen=True)
class Grid:
    """`grid(m, n, attrs='u.')`: nested loops, with the hint of each.

    Attributes:
        ranges: the loops, the outermost first.
        bind_tuple: whether a single loop gives a tuple too.
    """

    ranges: tuple[Range, ...]
    bind_tuple: bool = False


@dataclass(frozen=True)
class Tasks:
    """`tasks.on(worker, bound=[m, n])`: the tasks of one worker, in order.

    Attributes:
        map: the mapping.
        worker: the worker.
        bind_tuple: whether tasks of one dimension are tuples too.
        bound: extents outside of which tasks are left out.
        tile: the register tile whose elements are meant, where it is one.
    """

    map: TaskMap
    worker: Scalar
    bind_tuple: bool = False
    bound: tuple[int, ...] | None = None
    tile: Tensor | None = None

    def __iter__(self) -> Iterator[object]:
        """Go through the tasks in Python: their number is known, and what they have in common."""
        if self.bound is not None or self.tile is not None:
            raise ScriptError(
                "the tasks inside of a bound, and the elements of a tile, are those of a loop only",
                hint="for i, j in mapping.on(threadIdx.x, bound=[m, n])",
            )
        is_bare = self.map.rank == 1 and not self.bind_tuple
        for register in range(self.map.tasks_per_worker):
            task = task_of(self.map, self.worker, register)
            yield task[0] if is_bare else task

    def __reversed__(self) -> Iterator[object]:
        """Go through the tasks from the last one to the first."""
        return reversed(list(self))


@dataclass(frozen=True)
class Group:
    """`group(first, count)`: some warps of the block, whose threads run the body of a loop once."""

    first: int
    count: int


WORKER_METHODS = ("on", "map", "single_task_of", "tasks_of", "worker2task")
"""The methods of task mappings that take a worker."""


def tasks_of(
    tasks: TaskMap,
    name: str,
    worker: object,
    *,
    bind_tuple: bool = False,
    bound: object = None,
    tile: Tensor | None = None,
) -> object:
    """Return what `for i, j in tasks.on(worker)` goes through, or the task `tasks.map(worker)`.

    Args:
        tasks: the mapping.
        name: one of `WORKER_METHODS`.
        worker: the worker.
        bind_tuple: whether tasks of one dimension are tuples too.
        bound: tasks outside of these extents are left out.
        tile: a register tile with this layout, whose elements are meant.

    Raises:
        ScriptError: the worker is no integer, or the bound does not belong to the mapping.
    """
    extents, is_one = None, name in ("map", "single_task_of") and tasks.tasks_per_worker == 1
    if bound is not None:
        extents = check_shape(tuple(bound) if isinstance(bound, list | tuple) else (bound,))  # pyright: ignore[reportUnknownArgumentType]
        if len(extents) != tasks.rank:
            raise ScriptError(
                f"{len(extents)} bounds for the mapping {tasks} of {tasks.rank} dimensions",
                hint="give one for each dimension: bound=[m, n]",
            )
    if isinstance(worker, int) and not isinstance(worker, bool) and tile is None:
        known = tasks.on(worker, bound=extents)
        return known[0] if is_one else known
    if tile is not None and isinstance(worker, int):
        worker = scalar_of(worker)
    if not isinstance(worker, Scalar) or not is_integer(worker):
        raise ScriptError(
            f"the worker of a task mapping is an integer, not {describe(worker)}",
            hint="such as threadIdx.x",
        )
    if is_one:
        return task_of(tasks, worker, 0)
    return Tasks(tasks, worker, bind_tuple, extents, tile)


def task_of(tasks: TaskMap, worker: Scalar, register: int) -> tuple[Index, ...]:
    """Return a task of a worker: that of a place in its list."""
    task: list[Index] = [0] * tasks.rank
    for digit in tasks.spatial_digits:
        value = (worker if digit.weight == 1 else worker // digit.weight) % digit.extent
        moved = value if digit.stride == 1 else value * digit.stride
        before = task[digit.dim]
        task[digit.dim] = before + moved if isinstance(before, Scalar) else moved
    for digit in tasks.repeat_digits:
        step = digit.of_number(register) * digit.stride
        if step:
            task[digit.dim] = task[digit.dim] + step
    return tuple(task)
