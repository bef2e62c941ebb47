"""Along which dimension of a view neighbouring elements are neighbours in memory, in which runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Block, SSAValue

from hidet.analysis.forms import LinearForm, Variable
from hidet.analysis.index_forms import IndexForms
from hidet.arch.limits import ACCESS_BYTES
from hidet.dialects.compute import GridOp, LoadOp
from hidet.dialects.shaped import bytes_of, element_of, is_memref, shape_of, size_of

SAMPLES = 10
"""So many places of a view are looked at."""


@dataclass(frozen=True)
class Run:
    """Neighbouring elements of a view that are neighbours in memory.

    Attributes:
        dim: the dimension along which they lie.
        length: how many of them there are, from each multiple of the length on; they begin at a
            multiple of their bytes, 16 at most.
    """

    dim: int
    length: int


def contiguous_run(view: SSAValue, dims: Sequence[int]) -> Run:
    """Return the longest runs of a view or a buffer; along the last dimension where there are none.

    What a view reads is followed to the largest tensor in memory. The indices are looked at in some
    places, not proved: a guess for who should copy what, which `vectorize` checks.

    Args:
        view: a buffer or a view in a kernel, or an argument or a grid of a fusion; its memory
            begins at a multiple of 16 bytes.
        dims: the dimensions that count, the preferred one last.
    """
    follower = _Follower()
    best = Run(dims[-1], 1)
    if 0 in shape_of(view):
        return best
    neighbours = {dim: follower.neighbours(view, dim) for dim in dims}
    for dim in reversed(dims):
        length = max(ACCESS_BYTES // bytes_of(element_of(view)), 1)
        while length > 1 and not follower.has_runs(view, dim, length):
            length //= 2
        if (length, neighbours[dim]) > (best.length, neighbours[best.dim]):
            best = Run(dim, length)
    return best


class _Follower:
    """Follows elements of views to memory."""

    def __init__(self) -> None:
        self._forms = IndexForms()
        self._loads: dict[GridOp, list[tuple[SSAValue, list[LinearForm]]]] = {}

    def address(self, view: SSAValue, index: Sequence[int]) -> tuple[int, int] | None:
        """Return the size of the largest tensor that an element is read from, and the place there.

        What is not known, such as the variable of a loop, counts as 0; None for an element that
        is read from nowhere.
        """
        if is_memref(view.type) or isinstance(view.owner, Block):
            place = 0
            for extent, at in zip(shape_of(view), index, strict=True):
                place = place * max(extent, 1) + at
            return size_of(view), place
        grid = view.owner
        if not isinstance(grid, GridOp):
            return None
        values = _Values(zip(grid.indices, index, strict=True))
        found = [
            self.address(source, [form.evaluate(values) for form in forms])
            for source, forms in self._loads_of(grid)
        ]
        return max((each for each in found if each is not None), default=None, key=lambda e: e[0])

    def _loads_of(self, grid: GridOp) -> list[tuple[SSAValue, list[LinearForm]]]:
        """Return the source and the forms of the indices of each load in a grid."""
        known = self._loads.get(grid)
        if known is None:
            known = self._loads[grid] = [
                (load.source, [self._forms.form(each) for each in load.indices])
                for load in grid.body.walk()
                if isinstance(load, LoadOp)
            ]
        return known

    def neighbours(self, view: SSAValue, dim: int) -> int:
        """Return in how many of the samples the next element along a dimension is the neighbour."""
        count = 0
        for index in _samples(shape_of(view), dim, 1):
            here, there = (self.address(view, _moved(index, dim, step)) for step in (0, 1))
            count += here is not None and there is not None and there[1] == here[1] + 1
        return count

    def has_runs(self, view: SSAValue, dim: int, length: int) -> bool:
        """Return whether there are aligned runs of a length along a dimension, in all samples."""
        if shape_of(view)[dim] < length:
            return False
        for index in _samples(shape_of(view), dim, length):
            places = [self.address(view, _moved(index, dim, step)) for step in range(length)]
            first = places[0]
            if first is None or first[1] % length:
                return False
            if any(p is None or p[1] != first[1] + step for step, p in enumerate(places)):
                return False
        return True


class _Values(dict[SSAValue | Variable, int]):
    """The values of leaves of forms; all others are 0."""

    def __missing__(self, key: SSAValue | Variable) -> int:
        return 0


def _moved(index: Sequence[int], dim: int, step: int) -> list[int]:
    """Return an index some steps further along a dimension."""
    return [at + step if number == dim else at for number, at in enumerate(index)]


def _samples(shape: Sequence[int], dim: int, length: int) -> Iterator[list[int]]:
    """Give places spread over a tensor; along one dimension they are multiples of a length."""
    units = [max(extent // (length if n == dim else 1), 1) for n, extent in enumerate(shape)]
    total = prod(units)
    for number in range(SAMPLES):
        # Spread by a step that is odd, so that all dimensions take part.
        linear = number * (total // (SAMPLES) | 1) % total
        index: list[int] = []
        for n, unit in reversed(list(enumerate(units))):
            index.insert(0, linear % unit * (length if n == dim else 1))
            linear //= unit
        if index[dim] + length <= shape[dim]:
            yield index
