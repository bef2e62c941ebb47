"""Swizzled layouts: elements of memory that trade places, so that threads meet in no bank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from hidet.mapping.drawing import draw_table
from hidet.mapping.factors import MappingError
from hidet.mapping.places import place_in
from hidet.mapping.task_map import TaskMap

Index = TypeVar("Index")
"""A number, or what stands for one in a program and has the same operators."""


@dataclass(frozen=True, slots=True)
class Swizzle:
    """One exchange of places: a digit of one index is combined, by `^`, with one of another.

        digit  = index[dim] // step % extent
        change = index[regards] // regards_step % regards_extent
        index[dim] += ((digit ^ change) - digit) * step

    Attributes:
        dim: the dimension whose index changes.
        step: how far one step of its digit moves the index.
        extent: how many values the digit has, a power of two.
        regards: the dimension that decides about the change.
        regards_step: how far one step of that one's digit moves its index.
        regards_extent: how many values that digit has, not more than the other.
    """

    dim: int
    step: int
    extent: int
    regards: int
    regards_step: int
    regards_extent: int

    def __str__(self) -> str:
        """Say what happens to an index, as `d1 / 8 ^= d0 % 4`."""
        changed = f"d{self.dim}" + (f" / {self.step}" if self.step > 1 else "")
        by = f"d{self.regards}" + (f" / {self.regards_step}" if self.regards_step > 1 else "")
        return f"{changed} ^= {by} % {self.regards_extent}"


@dataclass(frozen=True)
class SwizzledLayout:
    """The layout of a tensor in memory in which elements have traded places.

    `row_major(8, 4).swizzle(1)` has element (i, j) where `row_major(8, 4)` has (i, j ^ i % 4). It
    composes with task mappings by `*` and `+`, as they do among themselves.

    Attributes:
        base: where the elements lie once they have traded places.
        swizzles: the exchanges, in the order in which they happen to an index.
    """

    base: TaskMap
    swizzles: tuple[Swizzle, ...]

    @classmethod
    def of(cls, layout: TaskMap | SwizzledLayout, dim: int, regards: int | None, log_step: int):  # noqa: ANN206
        """Return a layout with one more exchange; see `TaskMap.swizzle`."""
        base, others = (
            (layout, ()) if isinstance(layout, TaskMap) else (layout.base, layout.swizzles)
        )
        other = 1 - dim if regards is None and base.rank == 2 else regards
        if other is None or dim == other or not {dim, other} <= set(range(base.rank)):
            raise MappingError(
                f"cannot swizzle dimension {dim} of {base} by dimension {other}",
                hint=f"they are two of the dimensions {list(range(base.rank))}",
            )
        extent, step = base.shape[dim], 1 << max(log_step, 0)
        if extent & (extent - 1) or base.workers > 1 or log_step < 0:
            raise MappingError(
                f"cannot swizzle dimension {dim} of {base} with log_step={log_step}",
                hint="its extent is a power of two, the layout is one of memory, and log_step is "
                "not negative",
            )
        count = min(-(-base.shape[other] // step), extent)
        return cls(base, (Swizzle(dim, 1, extent, other, step, count), *others))

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return self.base.rank

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the tensor."""
        return self.base.shape

    def moved(self, index: Sequence[Index]) -> list[Index]:
        """Return where the base has what this layout has at an index.

        The index consists of numbers, or of what stands for numbers in a program.
        """
        moved = list(index)
        for each in self.swizzles:
            here = self._digit(moved, each.dim, each.step, each.extent)
            change = self._digit(moved, each.regards, each.regards_step, each.regards_extent)
            # What stands for a number in a program has the operators of one, but is none itself.
            place, old, by = (cast("int", number) for number in (moved[each.dim], here, change))
            is_first = isinstance(here, int) and here == 0
            place += (by if is_first else (old ^ by) - old) * each.step
            moved[each.dim] = cast("Index", place)
        return moved

    def _digit(self, index: Sequence[Index], dim: int, step: int, extent: int) -> Index:
        """Return a digit of an index; operators that change nothing are left out."""
        digit = cast("int", index[dim])
        if step > 1:
            digit = digit // step
        if step * extent < self.shape[dim]:
            digit = digit % extent
        return cast("Index", digit)

    def place(self, *index: int) -> int:
        """Return the place of an element in memory, counted in elements."""
        return self.base.register_index(self.moved(index))

    def __call__(self, *index: Any) -> Any:
        """Return the place of an element, whose index may be what stands for numbers."""
        return place_in(self.base, self.moved(index))

    def lift(self, before: int, after: int) -> SwizzledLayout:
        """Return the layout with further dimensions of extent 1 before and after its own."""
        swizzles = (
            replace(each, dim=each.dim + before, regards=each.regards + before)
            for each in self.swizzles
        )
        return SwizzledLayout(self.base.lift(before, after), tuple(swizzles))

    def swizzle(
        self, dim: int, regards_dim: int | None = None, log_step: int = 0
    ) -> SwizzledLayout:
        """Return the layout with one more exchange; see `TaskMap.swizzle`."""
        return SwizzledLayout.of(self, dim, regards_dim, log_step)

    def __mul__(self, inner: TaskMap | SwizzledLayout) -> SwizzledLayout:
        base, shape = (inner if isinstance(inner, TaskMap) else inner.base), inner.shape
        outer = (
            replace(
                each,
                step=each.step * shape[each.dim],
                regards_step=each.regards_step * shape[each.regards],
            )
            for each in self.swizzles
        )
        others = () if isinstance(inner, TaskMap) else inner.swizzles
        return SwizzledLayout(self.base * base, (*outer, *others))

    def __rmul__(self, outer: TaskMap) -> SwizzledLayout:
        return SwizzledLayout(outer * self.base, self.swizzles)

    def __add__(self, inner: TaskMap | SwizzledLayout) -> SwizzledLayout:
        return self.lift(0, inner.rank) * inner.lift(self.rank, 0)

    def __radd__(self, outer: TaskMap | Sequence[int] | int) -> SwizzledLayout:
        if not isinstance(outer, TaskMap):
            outer = TaskMap(()) + outer
        return outer.lift(0, self.rank) * self.lift(outer.rank, 0)

    def draw(self, limit: int = 32) -> str:
        """Return a picture as text: the place of each element in memory.

        Args:
            limit: so many rows and columns are drawn; what is left out shows as `..`.

        Raises:
            MappingError: it does not have two dimensions.
        """
        if self.rank != 2:
            raise MappingError(f"the picture of {self} is one of two dimensions")
        table = draw_table(lambda place: str(self.place(*place)), self.shape, limit)
        return f"{table}\n\n{self}\np     the element lies at place p of memory"

    def __str__(self) -> str:
        return f"{self.base} with {', '.join(map(str, self.swizzles))}"

    __repr__ = __str__
