"""What the loops of scripts iterate over: ranges, grids, tasks of a mapping, warp groups."""

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace

from hidet.errors import ScriptError
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import Index, Scalar, is_integer, scalar_of
from hidet.frontends.script.tensors import Tensor
from hidet.frontends.script.types import as_tuple, check_shape, plain_number
from hidet.mapping import TaskMap
from hidet.mapping.factors import split_hints


@dataclass(frozen=True)
class Range:
    """`range(start, stop, step)`, whose bounds may be known only at run time.

    Attributes:
        step: the step, positive if it is known only at run time.
        unroll: whether, or how often, nvcc unrolls the loop.
        trace_unrolled: whether the loop is unrolled at compile time.
        parallel: whether, or on how many threads, the loop runs in parallel on the CPU.
    """

    start: Index
    stop: Index
    step: Index
    unroll: bool | int = False
    trace_unrolled: bool = False
    parallel: bool | int = False

    @property
    def is_known(self) -> bool:
        """Whether all bounds are compile-time constants."""
        return all(isinstance(bound, int) for bound in (self.start, self.stop, self.step))

    def __repr__(self) -> str:
        return f"range({self.start}, {self.stop}, {self.step})"

    def __iter__(self) -> Iterator[int]:
        """Iterate at compile time."""
        return iter(range(*map(operator.index, (self.start, self.stop, self.step))))

    def __reversed__(self) -> "Range":
        """Return the range in reverse order."""
        if self.is_known:
            numbers = range(*map(operator.index, (self.start, self.stop, self.step)))[::-1]
            return replace(self, start=numbers.start, stop=numbers.stop, step=numbers.step)
        if not isinstance(self.step, int) or self.step != 1:
            raise ScriptError(
                "a range with a step is reversed, but its bounds are known only at run time",
                hint="iterate over range(n), and compute the value from it",
            )
        return replace(self, start=self.stop - 1, stop=self.start - 1, step=-1)


@dataclass(frozen=True)
class Grid:
    """`grid(m, n, attrs='u.')`: nested loops with hints."""

    ranges: tuple[Range, ...]
    bind_tuple: bool = False


@dataclass(frozen=True)
class Tasks:
    """`tasks.on(worker, bound=[m, n])`: the tasks of a worker, in order.

    Attributes:
        bind_tuple: whether one-dimensional tasks are tuples.
        bound: extents outside of which tasks are skipped.
        tile: the register tile whose elements are the tasks, if any.
    """

    map: TaskMap
    worker: Scalar
    bind_tuple: bool = False
    bound: tuple[int, ...] | None = None
    tile: Tensor | None = None

    def __iter__(self) -> Iterator[object]:
        """Iterate over the tasks at compile time; their indices are run-time values."""
        if self.bound is not None or self.tile is not None:
            raise ScriptError(
                "bounded tasks and elements of a tile can be iterated only by a loop of the script",
                hint="for i, j in mapping.on(threadIdx.x, bound=[m, n])",
            )
        is_bare = self.map.rank == 1 and not self.bind_tuple
        for register in range(self.map.tasks_per_worker):
            task = self.map.task(self.worker, register)
            yield task[0] if is_bare else task

    def __reversed__(self) -> Iterator[object]:
        """Iterate at compile time in reverse order."""
        return reversed(list(self))


@dataclass(frozen=True)
class Group:
    """`group(first, count)`: consecutive warps whose threads execute the body once."""

    first: int
    count: int


def loop_range(*bounds: object) -> Range:
    """Make a run-time loop, for `for i in range(...)`.

    Raises:
        ScriptError: the bounds or the step are no integers.
    """
    if not 1 <= len(bounds) <= 3:
        raise ScriptError(f"range takes one to three integers, not {len(bounds)}")
    start, stop, step = {1: (0, *bounds, 1), 2: (*bounds, 1), 3: bounds}[len(bounds)]
    step = plain_number(step)
    if not is_integer(step) or (isinstance(step, int) and step == 0):
        raise ScriptError(
            f"the step of range is {describe(step)}",
            hint="a non-zero integer, which is positive if known only at run time",
        )
    return Range(_bound(start), _bound(stop), _bound(step))


def _bound(value: object) -> Index:
    value = plain_number(value)
    if not isinstance(value, Scalar | int) or not is_integer(value):
        raise ScriptError(
            f"a bound of range is an integer, not {describe(value)}",
            hint="int(x) of a float is an integer",
        )
    return value


def grid(*extents: object, attrs: str | None = None, bind_tuple: bool = False) -> Grid:
    """Make nested run-time loops, for `for i, j in ...`.

    Args:
        extents: the extent of each loop; or one list of them, which yields tuples. `attrs` may
            follow as the last one.
        attrs: a hint per loop, or one for all: `u` unroll, `u4` unroll by four, `u+` unroll at
            compile time, `p` run in parallel on the CPU (outermost loop only), `p4` on four
            threads, `.` none.
        bind_tuple: whether a single loop yields a tuple.

    Raises:
        ScriptError: an extent is no integer, or the hints do not match the loops.
    """
    if len(extents) == 1 and isinstance(extents[0], list | tuple):
        extents = as_tuple(extents[0])  # pyright: ignore[reportUnknownArgumentType]
        bind_tuple = True
    if extents and isinstance(extents[-1], str):
        extents, attrs = extents[:-1], extents[-1]
    hints = split_hints(attrs or ".")
    if hints is None:
        raise ScriptError(
            f"unknown hints {attrs!r} of a grid",
            hint="'u' unrolls a loop, 'u4' unrolls by four, 'u+' unrolls at compile time, 'p' runs "
            "it in parallel on the CPU, '.' does nothing",
        )
    if len(hints) == 1:
        hints *= len(extents)
    if len(hints) != len(extents):
        raise ScriptError(
            f"attrs={attrs!r} has hints for {len(hints)} loops, the grid has {len(extents)}",
            hint="one 'u', 'u4', 'u+', 'p' or '.' for each loop",
        )
    loops: list[Range] = []
    for extent, hint in zip(extents, hints, strict=True):
        bound = _bound(extent)
        if hint == "u+" and not isinstance(bound, int):
            raise ScriptError(
                "the extent of a loop that is unrolled at compile time is known only at run time",
                hint="'u' leaves the unrolling to nvcc",
            )
        amount = int(hint[1:]) if hint[1:].isdigit() else hint in ("u", "p")
        unroll, parallel = (amount if hint[0] == letter else False for letter in "up")
        loops.append(Range(0, bound, 1, unroll, hint == "u+", parallel))
    return Grid(tuple(loops), bind_tuple)


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
    """Return the tasks `tasks.on(worker)`, or the only task, `tasks.map(worker)`."""
    extents, is_one = None, name in ("map", "single_task_of") and tasks.tasks_per_worker == 1
    if bound is not None:
        extents = check_shape(bound)
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
        return tasks.task(worker, 0)
    return Tasks(tasks, worker, bind_tuple, extents, tile)
