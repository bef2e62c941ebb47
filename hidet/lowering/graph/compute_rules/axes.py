"""The axes of a reduction: which dimensions are left, and which are reduced."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue


@dataclass(frozen=True)
class Axes:
    """The dimensions of a tensor split into those that are left and those that are reduced.

    Args:
        shape: the shape of what is reduced.
        axes: the dimensions that are reduced.
    """

    shape: tuple[int, ...]
    axes: tuple[int, ...]

    @property
    def kept(self) -> list[int]:
        """The dimensions that are left."""
        return [dim for dim in range(len(self.shape)) if dim not in self.axes]

    @property
    def outer(self) -> list[int]:
        """The extents that are left."""
        return [self.shape[dim] for dim in self.kept]

    @property
    def extents(self) -> list[int]:
        """The extents that are reduced."""
        return [self.shape[axis] for axis in self.axes]

    @property
    def count(self) -> int:
        """How many elements are combined into one."""
        return prod(self.extents)

    def merge(self, outer: Sequence[SSAValue], inner: Sequence[SSAValue]) -> list[SSAValue]:
        """Give the indices of an element from the indices left and those reduced."""
        by_dim = dict(zip(self.kept, outer, strict=True)) | dict(zip(self.axes, inner, strict=True))
        return [by_dim[dim] for dim in range(len(self.shape))]

    def outer_of(self, indices: Sequence[SSAValue]) -> list[SSAValue]:
        """Pick the indices that are left out of those of an element."""
        return [indices[dim] for dim in self.kept]


def reciprocal(count: int) -> float:
    """Give 1 / count; infinity for 0, so that a mean of nothing is NaN as in torch."""
    return 1 / count if count else float("inf")
