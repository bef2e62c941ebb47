"""The task mapping: a product of factors, and queries on it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from math import prod
from operator import add, index
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

from hidet.absent import explains_members
from hidet.mapping.drawing import draw
from hidet.mapping.factors import (
    Digit,
    Factor,
    Kind,
    MappingError,
    canonical,
    common_rank,
    digit_of,
    expand,
    ranked_factors,
    read_hints,
    single_factor,
    unit_factors,
)

if TYPE_CHECKING:
    from hidet.mapping.swizzle import SwizzledLayout

MAX_LISTED = 1 << 16
"""The most tasks of a worker that are listed."""

Task = tuple[int, ...]
"""A task: its index in each dimension of the tile."""


@explains_members
@dataclass(frozen=True, repr=False)
class TaskMap:
    """A task mapping; created with `spatial`, `repeat`, `replicate` and `*`.

    Every task of the shape belongs to exactly `replication` workers, at the same position in the
    list of each. So a map covers its shape, and without `replicate` it is a bijection between pairs
    (worker, position) and tasks.

    Attributes:
        factors: the factors, outermost first, in canonical form, so that maps are equal if and only
            if they are the same function.
        hints: the unroll factor of the loops over a worker's tasks along each dimension: 0 leaves
            it to the lowering, -1 unrolls fully. Empty without hints. They are ignored in
            comparisons and in the text form.

    Raises:
        MappingError: the ranks of two factors differ.
    """

    factors: tuple[Factor, ...]
    hints: tuple[int, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "factors", canonical(self.factors))

    @classmethod
    def from_factors(cls, factors: Iterable[tuple[str, Sequence[int]]]) -> "TaskMap":
        """Return the product of factors given as (kind, extents), outermost first.

        Raises:
            MappingError: for an unknown kind, non-positive extents, or different ranks.
        """
        return cls(tuple(Factor(cast("Kind", kind), tuple(dims)) for kind, dims in factors))

    # The table of digits and derived properties.

    @cached_property
    def digits(self) -> tuple[Digit, ...]:
        """All digits of extent > 1, outermost first."""
        return expand(self.factors)

    @cached_property
    def spatial_digits(self) -> tuple[Digit, ...]:
        """The worker digits that determine its tasks, most significant first.

        A lowering adds `worker // weight % extent * stride` to `task[dim]` for each.
        """
        return tuple(digit for digit in self.digits if digit.kind == "spatial")

    @cached_property
    def repeat_digits(self) -> tuple[Digit, ...]:
        """The register digits, most significant first.

        A lowering has a loop for each, the first outermost, with `extent` iterations that move
        `task[dim]` by `stride`. The register of a task is the sum of `task[dim] // stride % extent
        * weight`.
        """
        return tuple(digit for digit in self.digits if digit.kind == "repeat")

    @cached_property
    def replicate_digits(self) -> tuple[Digit, ...]:
        """The worker digits that do not affect its tasks, most significant first."""
        return tuple(digit for digit in self.digits if digit.kind == "replicate")

    @cached_property
    def rank(self) -> int:
        """The number of dimensions; 0 for a lone `replicate`, which fits any rank in a product."""
        return common_rank(self.factors)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tile of tasks."""
        shape = [1] * self.rank
        for digit in self.digits:
            if digit.kind != "replicate":
                shape[digit.dim] *= digit.extent
        return tuple(shape)

    @cached_property
    def workers(self) -> int:
        """The number of workers."""
        return prod(digit.extent for digit in self.digits if digit.kind != "repeat")

    @cached_property
    def tasks_per_worker(self) -> int:
        """The number of tasks of each worker: its registers for a tile."""
        return prod(digit.extent for digit in self.repeat_digits)

    @cached_property
    def replication(self) -> int:
        """The number of owners of every task."""
        return prod(digit.extent for digit in self.replicate_digits)

    # Evaluation.

    def __call__(self, *index: Any) -> Any:
        """Return the tasks of a worker, or the position of an element of a layout.

        A single argument is a worker, several ones are the index of an element: `layout(i, j)` is
        its position among the elements of its thread. Arguments may be symbolic.

        Raises:
            MappingError: there is no such worker, or the number of indices is not the rank.
        """
        return self.global2local(*index) if len(index) > 1 else self.tasks_of(*index)

    def task(self, worker: Any, register: int) -> Task:
        """Return the task of a worker at a position in its list. The worker may be symbolic."""
        first = _moved((0,) * self.rank, self.spatial_digits, worker)
        return _moved(first, self.repeat_digits, register)

    def tasks_of(self, worker: int) -> list[Task]:
        """Return the tasks of a worker, in order. The worker may be symbolic.

        Raises:
            MappingError: there is no such worker, or there are too many tasks to list.
        """
        if self.tasks_per_worker > MAX_LISTED:
            raise MappingError(
                f"a worker of {self} has {self.tasks_per_worker} tasks, too many to list",
                hint=f"up to {MAX_LISTED} are listed; a loop over the tasks needs no list",
            )
        if isinstance(worker, int) and not 0 <= worker < self.workers:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise MappingError(
                f"{self} has no worker {worker}", hint=f"its workers are 0 to {self.workers - 1}"
            )
        first, registers = self.task(worker, 0), range(self.tasks_per_worker)
        return [_moved(first, self.repeat_digits, register) for register in registers]

    __getitem__ = tasks_of

    def on(self, worker: SupportsIndex, *, bound: Sequence[int] | None = None) -> list[Task]:
        """Return the tasks of a worker, in order, as in `for i, j in tasks.on(worker)`.

        The worker may be symbolic in a script. `bound` are exclusive upper bounds of the tasks.
        """
        limits = self.shape if bound is None else bound
        tasks = self.tasks_of(index(worker))
        return [t for t in tasks if all(i < limit for i, limit in zip(t, limits, strict=True))]

    def map(self, worker: int) -> Task | list[Task]:
        """Return the task of a worker, as in `i, j = tasks.map(worker)`, or the list of several."""
        tasks = self.tasks_of(worker)
        return tasks[0] if self.tasks_per_worker == 1 else tasks

    def owners(self, task: Sequence[int]) -> list[int]:
        """Return the workers that run a task, in ascending order: the inverse of the map."""
        self._check_task(task)
        workers = [sum(digit.of_task(task) * digit.weight for digit in self.spatial_digits)]
        for digit in self.replicate_digits:
            steps = range(0, digit.extent * digit.weight, digit.weight)
            workers = [worker + step for worker in workers for step in steps]
        return workers

    def register_index(self, task: Sequence[int]) -> int:
        """Return the position of a task in the list of each of its owners."""
        self._check_task(task)
        return sum(digit.of_task(task) * digit.weight for digit in self.repeat_digits)

    def _check_task(self, task: Sequence[int]) -> None:
        if len(task) != self.rank or any(
            not 0 <= index < extent for index, extent in zip(task, self.shape, strict=True)
        ):
            raise MappingError(
                f"{self} has no task {tuple(task)}",
                hint=f"its tasks are the indices into a tile of shape {self.shape}",
            )

    # Composition.

    def __mul__(self, inner: "TaskMap") -> "TaskMap":
        # Handled by the swizzled layout.
        if not isinstance(inner, TaskMap):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        return TaskMap(self.factors + inner.factors, self._hints_with(inner.hints))

    def _hints_with(self, inner: tuple[int, ...]) -> tuple[int, ...]:
        """Return the hints of a composition; the inner map's take precedence."""
        if not (self.hints and inner):
            return self.hints or inner
        return tuple(i or o for o, i in zip(self.hints, inner, strict=True))

    def __add__(self, inner: "TaskMap | Sequence[int] | int") -> "TaskMap":
        """Return the map over the dimensions of both, with this one outside: `repeat(2) + tile`.

        Extents are short for their `repeat`: `[2] + tile`.
        """
        other = _as_map(inner)
        if other is None:
            return NotImplemented
        return self.lift(0, other.rank) * other.lift(self.rank, 0)

    def __radd__(self, outer: "Sequence[int] | int") -> "TaskMap":
        other = _as_map(outer)
        return NotImplemented if other is None else other + self

    def lift(self, before: int, after: int) -> "TaskMap":
        """Return the map with additional dimensions of extent 1 before and after its own."""
        factors = (
            factor
            if factor.kind == "replicate"
            else Factor(factor.kind, (1,) * before + factor.dims + (1,) * after)
            for factor in self.factors
        )
        hints = self.hints and (0,) * before + self.hints + (0,) * after
        return TaskMap(tuple(factors), hints)

    def swizzle(
        self, dim: int, regards_dim: int | None = None, log_step: int = 0
    ) -> "SwizzledLayout":
        """Return the layout in which elements are permuted along a dimension.

        Element (i, j) of `row_major(m, n).swizzle(1)` is where `row_major(m, n)` has (i, j ^ i %
        n); with `log_step` the index i counts in steps of 2 ** log_step. The extent of the permuted
        dimension is a power of two; `regards_dim` is by default the other one of two.

        Raises:
            MappingError: there are no such dimensions, or the map is not a memory layout.
        """
        from hidet.mapping.swizzle import SwizzledLayout

        return SwizzledLayout(self, ()).swizzle(dim, regards_dim, log_step)

    def spatial(self, *dims: int, ranks: Sequence[int] | None = None) -> "TaskMap":
        """Return the composition of this map with an inner spatial factor."""
        return TaskMap(self.factors + ranked_factors("spatial", dims, ranks), self.hints)

    def repeat(
        self, *dims: int, ranks: Sequence[int] | None = None, attrs: str | None = None
    ) -> "TaskMap":
        """Return the composition of this map with an inner repeat factor."""
        hints = self._hints_with(read_hints(len(dims), attrs))
        return TaskMap(self.factors + ranked_factors("repeat", dims, ranks), hints)

    def replicate(self, count: int) -> "TaskMap":
        """Return the composition of this map with an inner replicate factor."""
        return TaskMap((*self.factors, Factor("replicate", (count,))), self.hints)

    # The names of layouts and of the original Hidet.

    local, row_major = spatial, repeat

    def column_major(self, *dims: int) -> "TaskMap":
        """Return the composition with `column_major(...)`."""
        return self.repeat(*dims, ranks=range(len(dims))[::-1])

    @property
    def num_workers(self) -> int:
        """The number of workers."""
        return self.workers

    @property
    def task_shape(self) -> tuple[int, ...]:
        """The shape of the tile of tasks."""
        return self.shape

    @property
    def size(self) -> int:
        """The number of elements of one thread."""
        return self.tasks_per_worker

    worker2task = tasks_of

    def single_task_of(self, worker: int) -> Task:
        """Return the only task of a worker."""
        if self.tasks_per_worker != 1:
            raise MappingError(
                f"a worker of {self} has {self.tasks_per_worker} tasks",
                hint="iterate over them: for i, j in mapping.on(worker)",
            )
        return self.tasks_of(worker)[0]

    def global2local(self, *index: Any) -> Any:
        """Return the position of an element among those of its thread; indices may be symbolic.

        Raises:
            MappingError: the number of indices is not the rank.
        """
        if len(index) != self.rank:
            raise MappingError(
                f"{self} has {self.rank} dimensions, but got {len(index)} indices",
                hint="an index per dimension is an element, a single number is a worker",
            )
        digits = zip(self.repeat_values(index), self.repeat_digits, strict=True)
        terms = [value if d.weight == 1 else value * d.weight for value, d in digits]
        return reduce(add, terms) if terms else 0

    def repeat_values(self, index: Sequence[Any]) -> list[Any]:
        """Return the values of the repeat digits of an element; indices may be symbolic."""
        return [
            digit_of(index[digit.dim], digit.stride, digit.extent, self.shape[digit.dim])
            for digit in self.repeat_digits
        ]

    def within_bound(self, *index: Any) -> Any:
        """Return whether an index, as arguments or as a tuple, is within the shape."""
        is_tuple = len(index) == 1 and isinstance(index[0], tuple | list)
        numbers = cast("Sequence[Any]", index[0] if is_tuple else index)
        inside: Any = True
        for number, extent in zip(numbers, self.shape, strict=True):
            inside = (number < extent) & inside
        return inside

    def const_shape(self) -> list[int]:
        """Return the extents."""
        return list(self.shape)

    def project(self, dims: Iterable[int], *, keep: bool = False) -> "TaskMap":
        """Return the map of the tile after reduction of dimensions.

        The workers stay. A task of the result belongs to all workers that owned one of the tasks
        reduced into it; duplicate tasks of one worker are listed once. With `keep`, the dimensions
        stay with an extent of 1.

        Raises:
            MappingError: there is no such dimension.
        """
        dropped = set(dims)
        if not dropped <= set(range(self.rank)):
            raise MappingError(
                f"cannot reduce dimensions {sorted(dropped)} of {self}",
                hint=f"it has the dimensions {list(range(self.rank))}",
            )
        kept = [dim for dim in range(self.rank) if keep or dim not in dropped]
        factors = list(unit_factors(len(kept)))
        for digit in self.digits:
            if digit.dim in kept and digit.dim not in dropped:
                dim = kept.index(digit.dim)
                factors.append(single_factor(digit.kind, digit.extent, dim, len(kept)))
            elif digit.kind != "repeat":
                factors.append(Factor("replicate", (digit.extent,)))
        return TaskMap(tuple(factors))

    draw = draw

    def __str__(self) -> str:
        return " * ".join(str(factor) for factor in self.factors)

    __repr__ = __str__


def _moved(task: Task, digits: Iterable[Digit], number: Any) -> Task:
    """Return the task that a number, of a worker or a register, is away from another one.

    The number may be symbolic: no redundant operators.
    """
    moved: list[Any] = list(task)
    for digit in digits:
        before, value = moved[digit.dim], digit.of_number(number)
        step = value if digit.stride == 1 else value * digit.stride
        if type(before) is int and before == 0:
            moved[digit.dim] = step
        elif type(step) is not int or step != 0:
            moved[digit.dim] = before + step
    return tuple(moved)


def _as_map(value: object) -> TaskMap | None:
    """Return a map, or the `repeat` of extents; None for other values."""
    if isinstance(value, int):
        value = [value]
    if isinstance(value, list | tuple):
        return TaskMap(ranked_factors("repeat", cast("Sequence[int]", value), None))
    return value if isinstance(value, TaskMap) else None
