"""Kept and reduced dimensions of a reduction."""

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue


class Axes:
    """The dimensions of a tensor, partitioned into reduced axes and kept dimensions."""

    def __init__(self, shape: Sequence[int], axes: Sequence[int]) -> None:
        self.shape = tuple(shape)
        self.axes = tuple(axes)
        self.kept = [dim for dim in range(len(shape)) if dim not in axes]
        self.outer = [shape[dim] for dim in self.kept]
        self.extents = [shape[axis] for axis in axes]
        self.count = prod(self.extents)

    def merge(self, outer: Sequence[SSAValue], inner: Sequence[SSAValue]) -> list[SSAValue]:
        """Return the indices of an element from the kept and the reduced ones."""
        by_dim = dict(zip(self.kept, outer, strict=True)) | dict(zip(self.axes, inner, strict=True))
        return [by_dim[dim] for dim in range(len(self.shape))]

    def outer_of(self, indices: Sequence[SSAValue]) -> list[SSAValue]:
        """Return the kept indices of an element."""
        return [indices[dim] for dim in self.kept]


def reciprocal(count: int) -> float:
    """Return 1 / count; infinity for 0, so that an empty mean is NaN as in torch."""
    return 1 / count if count else float("inf")
