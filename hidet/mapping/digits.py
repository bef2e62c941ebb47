"""The mixed-radix digits of a product of factors."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hidet.mapping.factors import Factor, Kind, common_rank


@dataclass(frozen=True, slots=True)
class Digit:
    """A digit of the worker index (spatial, replicate) or of the register index (repeat).

    The value of a digit, from 0 to `extent` - 1, is determined by its number or by a task, and both
    are sums over digits:

        value = number // weight % extent        number    = sum(value * weight)
        value = task[dim] // stride % extent     task[dim] = sum(value * stride)

    A `replicate` digit moves in no dimension: its `dim` is -1, its `stride` 0.

    Attributes:
        kind: the kind of its factor.
        dim: the task dimension in which it moves.
        extent: the number of values.
        stride: its stride in the task dimension.
        weight: its weight in the worker or register index.
    """

    kind: Kind
    dim: int
    extent: int
    stride: int
    weight: int

    def of_number(self, number: int) -> int:
        """Return the value of this digit in a worker or register index."""
        return number // self.weight % self.extent

    def of_task(self, task: Sequence[int]) -> int:
        """Return the value of this digit for a task; undefined for a `replicate` digit."""
        return task[self.dim] // self.stride % self.extent


def expand(factors: Sequence[Factor]) -> tuple[Digit, ...]:
    """Return the digits of a product of factors, outermost first, without those of extent 1."""
    # From the innermost digit outwards: the products of extents so far, in each dimension and in
    # each index, are the stride and the weight of the next digit.
    strides = [1] * common_rank(factors)
    worker_weight = register_weight = 1
    digits: list[Digit] = []
    for factor in reversed(factors):
        for dim, extent in reversed(list(enumerate(factor.dims))):
            if factor.kind == "repeat":
                digit = Digit(factor.kind, dim, extent, strides[dim], register_weight)
                register_weight *= extent
                strides[dim] *= extent
            elif factor.kind == "spatial":
                digit = Digit(factor.kind, dim, extent, strides[dim], worker_weight)
                worker_weight *= extent
                strides[dim] *= extent
            else:
                digit = Digit(factor.kind, -1, extent, 0, worker_weight)
                worker_weight *= extent
            if extent > 1:
                digits.append(digit)
    return tuple(reversed(digits))


def shape_of(digits: Iterable[Digit], rank: int) -> tuple[int, ...]:
    """Return the shape of the tile in which the digits move."""
    shape = [1] * rank
    for digit in digits:
        if digit.kind != "replicate":
            shape[digit.dim] *= digit.extent
    return tuple(shape)
