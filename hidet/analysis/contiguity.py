"""The dimension along which a view is contiguous in memory, and the length of its vectors."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from operator import mul

import numpy as np
from xdsl.ir import Block, SSAValue

from hidet.analysis.algebra import Memo
from hidet.analysis.forms import LinearForm, Variable
from hidet.analysis.index_forms import IndexForms
from hidet.arch.limits import ACCESS_BYTES
from hidet.dialects.compute import GridOp, LoadOp, SinkOp, StoreOp
from hidet.dialects.effects import element_accesses
from hidet.dialects.shaped import bytes_of, element_of, is_memref, shape_of, size_of
from hidet.dialects.walking import ops_of_class

SAMPLES = 10
"""The number of elements of a view that are sampled."""


@dataclass(frozen=True)
class Run:
    """A contiguous, aligned run of elements of a view.

    Attributes:
        dim: the dimension along which the elements are contiguous.
        length: the number of elements; runs start at each multiple of it, and are aligned to their
            size, which is at most 16 bytes.
    """

    dim: int
    length: int


def contiguous_run(view: SSAValue, dims: Sequence[int]) -> Run:
    """Return the longest run of a view or a buffer; of length 1 along the last of `dims` if none.

    Reads of a view and stores of a sink are followed to the largest tensor in memory. Addresses are
    sampled, not proved: the result is a heuristic for the thread layout of copies, which
    `vectorize` checks.

    Args:
        view: a buffer, a view or a sink in a kernel, or an argument or a grid of a fusion; its
            memory is aligned to 16 bytes.
        dims: the candidate dimensions, the preferred one last.
    """
    if 0 in shape_of(view):
        return Run(dims[-1], 1)
    addresses = _Addresses()
    lengths: dict[int, int] = {}
    for dim in reversed(dims):
        length = max(ACCESS_BYTES // bytes_of(element_of(view)), 1)
        while length > 1 and not addresses.has_runs(view, dim, length):
            length //= 2
        lengths[dim] = length
    longest = max(lengths.values())
    best, *others = [dim for dim, length in lengths.items() if length == longest]
    if others:
        best = max((best, *others), key=lambda dim: addresses.count_adjacent(view, dim))
    return Run(best, longest)


def adjacent_dim(view: SSAValue) -> int | None:
    """Return the dimension along which most elements are adjacent in memory, None without any.

    Like `contiguous_run` it samples addresses, whatever their alignment.
    """
    addresses = _Addresses()
    dims = [dim for dim, extent in enumerate(shape_of(view)) if extent > 1]
    counts = {dim: addresses.count_adjacent(view, dim) for dim in reversed(dims)}
    best = max(counts, key=counts.__getitem__, default=None)
    return best if best is not None and counts[best] > SAMPLES // 2 else None


class _Addresses:
    """Computes the addresses of elements of views."""

    def __init__(self) -> None:
        self._forms = IndexForms()
        self._accesses = Memo(self._accesses_of)
        self._layouts = Memo(_layout_of)

    def address(self, view: SSAValue, index: Sequence[int]) -> tuple[int, int] | None:
        """Return (size, offset): the largest tensor that holds an element, and its offset there.

        Unknown values, such as induction variables, count as 0. None if the element is not in
        memory.
        """
        layout = self._layouts[view]
        if layout is not None:
            size, strides = layout
            return size, sum(map(mul, index, strides))
        owner = view.owner
        if not isinstance(owner, GridOp | SinkOp):
            return None
        known = zip(owner.indices, index, strict=True)
        values = defaultdict[SSAValue | Variable, int](int, known)
        found = [
            self.address(memory, [form.evaluate(values) for form in forms])
            for memory, forms in self._accesses[owner]
        ]
        return max((each for each in found if each is not None), default=None, key=lambda e: e[0])

    def _accesses_of(self, view: GridOp | SinkOp) -> list[tuple[SSAValue, list[LinearForm]]]:
        """Return the tensor and the index forms of each load in a grid, or store in a sink."""
        kind = StoreOp if isinstance(view, SinkOp) else LoadOp
        accesses = (each for op in ops_of_class(view.body, kind) for each in element_accesses(op))
        elements = (access.element for access in accesses)
        return [(memory, [*map(self._forms.form, indices)]) for memory, indices in elements]

    def count_adjacent(self, view: SSAValue, dim: int) -> int:
        """Return the number of samples whose successor along a dimension is adjacent in memory."""
        count = 0
        for index in _samples(shape_of(view), dim, 1):
            here, there = (self.address(view, _moved(index, dim, step)) for step in (0, 1))
            count += here is not None and there is not None and there[1] == here[1] + 1
        return count

    def has_runs(self, view: SSAValue, dim: int, length: int) -> bool:
        """Return whether all samples start an aligned run of a length along a dimension."""
        if shape_of(view)[dim] < length:
            return False
        samples = _samples(shape_of(view), dim, length)
        return all(self._is_run(view, index, dim, length) for index in samples)

    def _is_run(self, view: SSAValue, index: Sequence[int], dim: int, length: int) -> bool:
        """Return whether an aligned run of a length starts at an element, by its ends."""
        first = self.address(view, index)
        if first is None or first[1] % length:
            return False
        ends = [(step, self.address(view, _moved(index, dim, step))) for step in (1, length - 1)]
        return all(other is not None and other[1] == first[1] + step for step, other in ends)


def _layout_of(view: SSAValue) -> tuple[int, list[int]] | None:
    """Return the size and the strides of a buffer, None for a view of others."""
    if not is_memref(view.type) and not isinstance(view.owner, Block):
        return None
    extents = [max(extent, 1) for extent in shape_of(view)]
    return size_of(view), [prod(extents[dim + 1 :]) for dim in range(len(extents))]


def _moved(index: Sequence[int], dim: int, step: int) -> list[int]:
    """Return an index advanced by some elements along a dimension."""
    return [at + step if number == dim else at for number, at in enumerate(index)]


def _samples(shape: Sequence[int], dim: int, length: int) -> Iterator[list[int]]:
    """Yield sampled indices of a tensor; along `dim` they are multiples of the length."""
    units = [max(extent // (length if n == dim else 1), 1) for n, extent in enumerate(shape)]
    total = prod(units)
    for number in range(SAMPLES):
        # An odd stride, so that all dimensions vary.
        linear = number * (total // SAMPLES | 1) % total
        index = [int(at) for at in np.unravel_index(linear, units)]
        index[dim] *= length
        if index[dim] + length <= shape[dim]:
            yield index
