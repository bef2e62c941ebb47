"""The task mapping itself: a product of factors, and what can be asked of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

from hidet.absent import explains_members
from hidet.mapping.canonical import canonical
from hidet.mapping.digits import Digit, expand, shape_of
from hidet.mapping.drawing import draw
from hidet.mapping.factors import (
    Factor,
    Kind,
    MappingError,
    common_rank,
    ranked_factors,
    read_hints,
    single_factor,
    unit_factors,
)
from hidet.mapping.places import is_inside, place_in

if TYPE_CHECKING:
    from hidet.mapping.swizzle import SwizzledLayout

MAX_LISTED = 1 << 16
"""So many tasks are listed at most."""

Task = tuple[int, ...]
"""A task: its index in each dimension of the tile."""


@explains_members
@dataclass(frozen=True, repr=False)
class TaskMap:
    """A task mapping; made with `spatial`, `repeat`, `replicate` and `*`.

    Every task of the shape belongs to exactly `replication` workers, at the same position of the
    list of each. So a map covers its shape, and without `replicate` it is a bijection between
    pairs (worker, position) and tasks.

    Attributes:
        factors: the factors, outermost first; whatever product is given is brought to canonical
            form, so that maps are equal if and only if they are the same function.
        hints: for each dimension how loops over the tasks of a worker are unrolled along it: 0
            leaves that to the lowering, which unrolls loops over few tasks; -1 unrolls all, n so
            many iterations. Empty where there are none. They are no part of the function: maps
            compare without them, and a text has none.

    Raises:
        MappingError: if the ranks of two factors differ.
    """

    factors: tuple[Factor, ...]
    hints: tuple[int, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "factors", canonical(self.factors))

    @classmethod
    def from_factors(cls, factors: Iterable[tuple[str, Sequence[int]]]) -> "TaskMap":
        """Return the product of factors that are given as (kind, extents), outermost first.

        Raises:
            MappingError: for an unknown kind, extents that are not positive, ranks that differ.
        """
        return cls(tuple(Factor(cast("Kind", kind), tuple(dims)) for kind, dims in factors))

    # The table of digits, and what follows from it.

    @cached_property
    def digits(self) -> tuple[Digit, ...]:
        """All digits, outermost first; none has extent 1."""
        return expand(self.factors)

    @cached_property
    def spatial_digits(self) -> tuple[Digit, ...]:
        """The digits of the worker that say where its tasks lie, most significant first.

        A lowering adds `worker // weight % extent * stride` to `task[dim]` for each.
        """
        return tuple(digit for digit in self.digits if digit.kind == "spatial")

    @cached_property
    def repeat_digits(self) -> tuple[Digit, ...]:
        """The digits of the register, most significant first.

        A lowering of the tasks is one loop for each, the first outermost: `extent` steps, each of
        which moves `task[dim]` by `stride`. The register of a task is the sum of
        `task[dim] // stride % extent * weight`.
        """
        return tuple(digit for digit in self.digits if digit.kind == "repeat")

    @cached_property
    def replicate_digits(self) -> tuple[Digit, ...]:
        """The digits of the worker on which its tasks do not depend, most significant first."""
        return tuple(digit for digit in self.digits if digit.kind == "replicate")

    @cached_property
    def rank(self) -> int:
        """The number of dimensions; 0 for a lone `replicate`, which fits any rank in a product."""
        return common_rank(self.factors)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tile of tasks."""
        return shape_of(self.digits, self.rank)

    @cached_property
    def workers(self) -> int:
        """The number of workers."""
        return prod(digit.extent for digit in self.digits if digit.kind != "repeat")

    @cached_property
    def tasks_per_worker(self) -> int:
        """The number of tasks of each worker: the registers that it needs for a tile."""
        return prod(digit.extent for digit in self.repeat_digits)

    @cached_property
    def replication(self) -> int:
        """The number of workers that run a task, the same for every task."""
        return prod(digit.extent for digit in self.replicate_digits)

    def covers(self) -> bool:
        """Whether every task of the shape has an owner; true of every product of factors."""
        return self.workers * self.tasks_per_worker == prod(self.shape) * self.replication

    def is_injective(self) -> bool:
        """Whether every task has one owner only, at one position: nothing is replicated."""
        return self.replication == 1

    # Evaluation.

    def __call__(self, *index: Any) -> Any:
        """Return the tasks of a worker, in order; or of a layout the place of an element.

        A single number is a worker, several ones are the index of an element: `layout(i, j)` is its
        place among those that its thread holds. They may be what stands for numbers in a program.

        Raises:
            MappingError: if there is no such worker, or not one number for each dimension.
        """
        return place_in(self, index) if len(index) > 1 else self.tasks_of(*index)

    def tasks_of(self, worker: int) -> list[Task]:
        """Return the tasks of a worker, in order.

        What stands for a number in a program, and has its operators, makes tasks of such.

        Raises:
            MappingError: if there is no such worker, or so many tasks that nobody wants a list.
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
        first = [0] * self.rank
        for digit in self.spatial_digits:
            first[digit.dim] += digit.of_number(worker) * digit.stride
        tasks: list[Task] = []
        for register in range(self.tasks_per_worker):
            task = list(first)
            for digit in self.repeat_digits:
                task[digit.dim] += digit.of_number(register) * digit.stride
            tasks.append(tuple(task))
        return tasks

    def __getitem__(self, worker: int) -> list[Task]:
        return self.tasks_of(worker)

    def on(self, worker: SupportsIndex, *, bound: Sequence[int] | None = None) -> list[Task]:
        """Return the tasks of a worker, in order, as in `for i, j in tasks.on(worker)`.

        Args:
            worker: the worker, in a script also one that is known when the kernel runs.
            bound: tasks outside of these extents are left out.
        """
        limits = self.shape if bound is None else bound
        tasks = self.tasks_of(index(worker))
        return [t for t in tasks if all(i < limit for i, limit in zip(t, limits, strict=True))]

    def map(self, worker: int) -> Task | list[Task]:
        """Return the task of a worker, as in `i, j = tasks.map(worker)`; if several, the list."""
        tasks = self.tasks_of(worker)
        return tasks[0] if self.tasks_per_worker == 1 else tasks

    def owners(self, task: Sequence[int]) -> list[int]:
        """Return the workers that run a task, in ascending order: the inverse of the map.

        Raises:
            MappingError: if the task lies outside of the shape.
        """
        self._check_task(task)
        workers = [sum(digit.of_task(task) * digit.weight for digit in self.spatial_digits)]
        for digit in self.replicate_digits:
            steps = range(0, digit.extent * digit.weight, digit.weight)
            workers = [worker + step for worker in workers for step in steps]
        return workers

    def register_index(self, task: Sequence[int]) -> int:
        """Return the position of a task in the list of each of its owners.

        Raises:
            MappingError: if the task lies outside of the shape.
        """
        self._check_task(task)
        return sum(digit.of_task(task) * digit.weight for digit in self.repeat_digits)

    def _check_task(self, task: Sequence[int]) -> None:
        """Raise a `MappingError` if a task lies outside of the shape."""
        if len(task) != self.rank or any(
            not 0 <= index < extent for index, extent in zip(task, self.shape, strict=True)
        ):
            raise MappingError(
                f"{self} has no task {tuple(task)}",
                hint=f"its tasks are the indices into a tile of shape {self.shape}",
            )

    # New maps from old ones.

    def __mul__(self, inner: "TaskMap") -> "TaskMap":
        # A swizzled layout knows how to compose.
        if not isinstance(inner, TaskMap):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        return TaskMap(self.factors + inner.factors, self._hints_with(inner.hints))

    def _hints_with(self, inner: tuple[int, ...]) -> tuple[int, ...]:
        """Return the hints of a composition; the inner map's count where both have some."""
        if not (self.hints and inner):
            return self.hints or inner
        return tuple(i or o for o, i in zip(self.hints, inner, strict=True))

    def __add__(self, inner: "TaskMap | Sequence[int] | int") -> "TaskMap":
        """Return the map over the dimensions of both, this one outside: `repeat(2) + tile`.

        Extents stand for a `repeat` of them: `[2] + tile`.
        """
        other = _as_map(inner)
        if other is None:
            return NotImplemented
        return self.lift(0, other.rank) * other.lift(self.rank, 0)

    def __radd__(self, outer: "Sequence[int] | int") -> "TaskMap":
        other = _as_map(outer)
        return NotImplemented if other is None else other + self

    def lift(self, before: int, after: int) -> "TaskMap":
        """Return the map with further dimensions of extent 1 before and after its own."""
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
        """Return the layout in which elements trade places along a dimension.

        Element (i, j) of `row_major(m, n).swizzle(1)` lies where `row_major(m, n)` has
        (i, j ^ i % n); with `log_step` the index i counts in steps of 2 ** log_step.

        Args:
            dim: the dimension, of which the extent is a power of two.
            regards_dim: the dimension that decides; of two the other one.
            log_step: so many low bits of its index make no difference.

        Raises:
            MappingError: there are no such dimensions, or the map is not one of memory.
        """
        from hidet.mapping.swizzle import SwizzledLayout

        return SwizzledLayout.of(self, dim, regards_dim, log_step)

    def spatial(self, *dims: int, ranks: Sequence[int] | None = None) -> "TaskMap":
        """Return the composition of this map, outside, with a spatial factor."""
        return TaskMap(self.factors + ranked_factors("spatial", dims, ranks), self.hints)

    def repeat(
        self, *dims: int, ranks: Sequence[int] | None = None, attrs: str | None = None
    ) -> "TaskMap":
        """Return the composition of this map, outside, with a repeat factor."""
        hints = self._hints_with(read_hints(len(dims), attrs))
        return TaskMap(self.factors + ranked_factors("repeat", dims, ranks), hints)

    def replicate(self, count: int) -> "TaskMap":
        """Return the composition of this map, outside, with a replicate factor."""
        return TaskMap((*self.factors, Factor("replicate", (count,))), self.hints)

    # The words of layouts, for what a thread holds, and of the original Hidet.

    def local(self, *dims: int) -> "TaskMap":
        """Return the composition with `local_layout(...)`: `spatial`, as a word of layouts."""
        return self.spatial(*dims)

    def row_major(self, *dims: int) -> "TaskMap":
        """Return the composition with `row_major(...)`: `repeat`, as a word of layouts."""
        return self.repeat(*dims)

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

    def worker2task(self, worker: int) -> list[Task]:
        """Return the tasks of a worker, in order."""
        return self.tasks_of(worker)

    def single_task_of(self, worker: int) -> Task:
        """Return the task of a worker that has one.

        Raises:
            MappingError: if there is no such worker, or it has several tasks.
        """
        if self.tasks_per_worker != 1:
            raise MappingError(
                f"a worker of {self} has {self.tasks_per_worker} tasks",
                hint="go through them: for i, j in mapping.on(worker)",
            )
        return self.tasks_of(worker)[0]

    def global2local(self, *index: Any) -> Any:
        """Return the place of an element, as the layout does that is called."""
        return place_in(self, index)

    def within_bound(self, *index: Any) -> Any:
        """Return whether an index, in several arguments or as a tuple, is one of an element."""
        is_tuple = len(index) == 1 and isinstance(index[0], tuple | list)
        return is_inside(self, cast("Sequence[object]", index[0] if is_tuple else index))

    def const_shape(self) -> list[int]:
        """Return the extents."""
        return list(self.shape)

    @property
    def size(self) -> int:
        """The number of elements that one thread holds of a tensor with this layout."""
        return self.tasks_per_worker

    def project(self, dims: Iterable[int]) -> "TaskMap":
        """Return the map of the tile that is left when the given dimensions are reduced away.

        The workers stay. A task of the result belongs to all workers that owned one of the tasks
        reduced into it; tasks of one worker that fall together are listed once.

        Raises:
            MappingError: if there is no such dimension.
        """
        dropped = set(dims)
        if not dropped <= set(range(self.rank)):
            raise MappingError(
                f"cannot reduce dimensions {sorted(dropped)} of {self}",
                hint=f"it has the dimensions {list(range(self.rank))}",
            )
        kept = [dim for dim in range(self.rank) if dim not in dropped]
        factors = list(unit_factors(len(kept)))
        for digit in self.digits:
            if digit.dim in kept:
                dim = kept.index(digit.dim)
                factors.append(single_factor(digit.kind, digit.extent, dim, len(kept)))
            elif digit.kind != "repeat":
                factors.append(Factor("replicate", (digit.extent,)))
        return TaskMap(tuple(factors))

    def draw(self, limit: int = 32) -> str:
        """Return a picture as text: the worker and the register of each element, and a legend.

        Args:
            limit: so many rows and columns are drawn; what is left out shows as `..`.
        """
        return draw(self, limit)

    def __str__(self) -> str:
        return " * ".join(str(factor) for factor in self.factors)

    __repr__ = __str__


def _as_map(value: object) -> TaskMap | None:
    """Return a map, of extents the `repeat` of them; None for anything else."""
    if isinstance(value, int):
        value = [value]
    if isinstance(value, list | tuple):
        return TaskMap(ranked_factors("repeat", cast("Sequence[int]", value), None))
    return value if isinstance(value, TaskMap) else None
