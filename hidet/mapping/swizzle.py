"""Swizzled layouts: memory layouts with permuted elements, to avoid bank conflicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from hidet.mapping.drawing import draw_table
from hidet.mapping.factors import MappingError, digit_of
from hidet.mapping.task_map import TaskMap

Index = TypeVar("Index")
"""A number, or a symbolic one with the same operators."""


@dataclass(frozen=True, slots=True)
class Swizzle:
    """A permutation: a digit of one index is XORed with a digit of another.

        digit  = index[dim] // step % extent
        change = index[regards] // regards_step % regards_extent
        index[dim] += ((digit ^ change) - digit) * step

    `extent` is a power of two, and `regards_extent` not more than that.
    """

    dim: int
    step: int
    extent: int
    regards: int
    regards_step: int
    regards_extent: int

    def __str__(self) -> str:
        """Return the permutation as `d1 / 8 ^= d0 % 4`."""
        changed = f"d{self.dim}" + (f" / {self.step}" if self.step > 1 else "")
        by = f"d{self.regards}" + (f" / {self.regards_step}" if self.regards_step > 1 else "")
        return f"{changed} ^= {by} % {self.regards_extent}"


@dataclass(frozen=True)
class SwizzledLayout:
    """A memory layout with permuted elements.

    `row_major(8, 4).swizzle(1)` has element (i, j) where `row_major(8, 4)` has (i, j ^ i % 4). It
    composes with task maps by `*` and `+`. `base` is the layout of the permuted elements; the
    `swizzles` are applied to an index in order.
    """

    base: TaskMap
    swizzles: tuple[Swizzle, ...]

    def swizzle(
        self, dim: int, regards_dim: int | None = None, log_step: int = 0
    ) -> SwizzledLayout:
        """Return the layout with an additional permutation; see `TaskMap.swizzle`."""
        base = self.base
        other = 1 - dim if regards_dim is None and base.rank == 2 else regards_dim
        if other is None or dim == other or not {dim, other} <= set(range(base.rank)):
            raise MappingError(
                f"cannot swizzle dimension {dim} of {base} by dimension {other}",
                hint=f"two different dimensions of {list(range(base.rank))} are needed",
            )
        extent, step = base.shape[dim], 1 << max(log_step, 0)
        if extent & (extent - 1) or base.workers > 1 or log_step < 0:
            raise MappingError(
                f"cannot swizzle dimension {dim} of {base} with log_step={log_step}",
                hint="its extent is a power of two, the layout has one worker, and log_step is "
                "not negative",
            )
        count = min(-(-base.shape[other] // step), extent)
        added = Swizzle(dim, 1, extent, other, step, count)
        return SwizzledLayout(base, (added, *self.swizzles))

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return self.base.rank

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the tensor."""
        return self.base.shape

    def moved(self, index: Sequence[Index]) -> list[Index]:
        """Return the index in the base of an element, which may be symbolic."""
        moved = list(index)
        for each in self.swizzles:
            here = digit_of(moved[each.dim], each.step, each.extent, self.shape[each.dim])
            regarded, limit = moved[each.regards], self.shape[each.regards]
            change = digit_of(regarded, each.regards_step, each.regards_extent, limit)
            # Symbolic numbers have the operators of int.
            place, old, by = (cast("int", number) for number in (moved[each.dim], here, change))
            is_first = isinstance(here, int) and here == 0
            place += (by if is_first else (old ^ by) - old) * each.step
            moved[each.dim] = cast("Index", place)
        return moved

    def place(self, *index: int) -> int:
        """Return the memory offset of an element, in elements."""
        return self.base.register_index(self.moved(index))

    def __call__(self, *index: Any) -> Any:
        """Return the memory offset of an element, whose index may be symbolic."""
        return self.base.global2local(*self.moved(index))

    def lift(self, before: int, after: int) -> SwizzledLayout:
        """Return the layout with additional dimensions of extent 1 before and after its own."""
        swizzles = (
            replace(each, dim=each.dim + before, regards=each.regards + before)
            for each in self.swizzles
        )
        return SwizzledLayout(self.base.lift(before, after), tuple(swizzles))

    def __mul__(self, inner: TaskMap | SwizzledLayout) -> SwizzledLayout:
        if isinstance(inner, TaskMap):
            inner = SwizzledLayout(inner, ())
        outer = (
            replace(
                each,
                step=each.step * inner.shape[each.dim],
                regards_step=each.regards_step * inner.shape[each.regards],
            )
            for each in self.swizzles
        )
        return SwizzledLayout(self.base * inner.base, (*outer, *inner.swizzles))

    def __rmul__(self, outer: TaskMap) -> SwizzledLayout:
        return SwizzledLayout(outer * self.base, self.swizzles)

    def __add__(self, inner: TaskMap | SwizzledLayout) -> SwizzledLayout:
        return self.lift(0, inner.rank) * inner.lift(self.rank, 0)

    def __radd__(self, outer: TaskMap | Sequence[int] | int) -> SwizzledLayout:
        if not isinstance(outer, TaskMap):
            outer = TaskMap(()) + outer
        return outer.lift(0, self.rank) * self.lift(outer.rank, 0)

    def draw(self, limit: int = 32) -> str:
        """Return a picture as text: the memory offset of each element.

        At most `limit` rows and columns are drawn; more are shown as `..`.
        """
        if self.rank != 2:
            raise MappingError(f"the picture of {self} is one of two dimensions")
        table = draw_table(lambda place: str(self.place(*place)), self.shape, limit)
        return f"{table}\n\n{self}\np     the element lies at place p of memory"

    def __str__(self) -> str:
        return f"{self.base} with {', '.join(map(str, self.swizzles))}"

    __repr__ = __str__
