"""The factors of task mappings, their digits, and the canonical form of their products."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

from hidet.errors import HidetError

Kind = Literal["spatial", "repeat", "replicate"]


class MappingError(HidetError, ValueError):
    """An invalid task mapping, or a worker or task that a mapping does not have."""


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor of a product: its extent in each dimension; for `replicate`, its workers.

    Raises:
        MappingError: for an unknown kind, or missing or non-positive extents.
    """

    kind: Kind
    dims: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise MappingError(
                f"unknown factor '{self.kind}' of a task mapping",
                hint=f"the factors are {', '.join(get_args(Kind))}",
            )
        if not self.dims or any(extent < 1 for extent in self.dims):
            raise MappingError(
                f"{self} is not a valid factor of a task mapping",
                hint="a factor has at least one extent, and extents are positive",
            )
        if self.kind == "replicate" and len(self.dims) > 1:
            raise MappingError(
                f"{self} has {len(self.dims)} extents",
                hint="replicate has no dimensions, it takes one number of workers",
            )

    @property
    def rank(self) -> int:
        """The number of dimensions, 0 for `replicate`."""
        return 0 if self.kind == "replicate" else len(self.dims)

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(str(extent) for extent in self.dims)})"


def common_rank(factors: Iterable[Factor]) -> int:
    """Return the common rank of all factors but `replicate`, 0 if there are none."""
    ranked = [factor for factor in factors if factor.rank > 0]
    for factor in ranked[1:]:
        if factor.rank != ranked[0].rank:
            raise MappingError(
                f"cannot compose {ranked[0]} of rank {ranked[0].rank} "
                f"with {factor} of rank {factor.rank}",
                hint="all factors but replicate have one extent for each dimension, 1 where they "
                "do nothing, as in repeat(4, 1)",
            )
    return ranked[0].rank if ranked else 0


def single_factor(kind: Kind, extent: int, dim: int, rank: int) -> Factor:
    """Return the spatial or repeat factor with one dimension of extent > 1."""
    return Factor(kind, tuple(extent if index == dim else 1 for index in range(rank)))


def unit_factors(rank: int) -> tuple[Factor, ...]:
    """Return the factors of the map of one worker with one task."""
    return (Factor("repeat", (1,) * rank),) if rank > 0 else ()


def ranked_factors(
    kind: Kind, dims: Sequence[int], ranks: Sequence[int] | None
) -> tuple[Factor, ...]:
    """Return the row-major factors that are equivalent to a factor with ranks."""
    row_major = Factor(kind, tuple(dims))
    if ranks is None:
        return (row_major,)
    return tuple(
        single_factor(kind, dims[dim], dim, len(dims)) for dim in traversal_order(dims, ranks)
    )


def traversal_order(dims: Sequence[int], ranks: Sequence[int] | None) -> list[int]:
    """Return the dimensions in the order given by ranks, slowest first."""
    if ranks is None:
        return list(range(len(dims)))
    if sorted(ranks) != list(range(len(dims))):
        raise MappingError(
            f"ranks {list(ranks)} do not order the {len(dims)} dimensions of {tuple(dims)}",
            hint=f"ranks are a permutation of 0 to {len(dims) - 1}, one for each dimension",
        )
    return sorted(range(len(dims)), key=lambda dim: ranks[dim])


_HINT = re.compile(r"u(?:\d+|\+)?|p\d*|\.")

UNROLLED = -1
"""The hint to unroll a loop fully; 0 is no hint, another number an unroll factor."""


def read_hints(rank: int, hints: str | None) -> tuple[int, ...]:
    """Return the unroll hint per dimension of a repeat factor, from a string such as `u.`.

    `p`, by which the original Hidet parallelizes a loop over cores, is ignored.
    """
    found = split_hints("." if hints is None else hints)
    if found is None or len(found) not in (1, rank):
        raise MappingError(
            f"attrs={hints!r} has no hints for the {rank} loops of a repeat factor",
            hint="'u' unrolls a loop, '.' leaves it as it is: one for each, or one for all",
        )
    amounts = [_amount(hint) for hint in found]
    return tuple(amounts * (rank if len(amounts) == 1 else 1))


def split_hints(text: str) -> list[str] | None:
    """Return the hint of each loop in a text such as `u.u4`, None if there is anything else."""
    found: list[str] = _HINT.findall(text)
    return found if "".join(found) == text else None


def _amount(hint: str) -> int:
    """Return the unroll factor of a hint: of `.` and `p` 0, of `u4` 4."""
    return 0 if hint[0] in ".p" else int(hint[1:]) if hint[1:].isdigit() else UNROLLED


@dataclass(frozen=True, slots=True)
class Digit:
    """A digit of the worker index (spatial, replicate) or of the register index (repeat).

    The value of a digit, from 0 to `extent` - 1, is determined by its number or by a task, and both
    are sums over digits:

        value = number // weight % extent        number    = sum(value * weight)
        value = task[dim] // stride % extent     task[dim] = sum(value * stride)

    A `replicate` digit moves in no dimension: its `dim` is -1, its `stride` 0.
    """

    kind: Kind
    dim: int
    extent: int
    stride: int
    weight: int

    def of_number(self, number: Any) -> Any:
        """Return the value of this digit in a worker or register index, which may be symbolic."""
        return (number if self.weight == 1 else number // self.weight) % self.extent

    def of_task(self, task: Sequence[int]) -> int:
        """Return the value of this digit for a task; undefined for a `replicate` digit."""
        return task[self.dim] // self.stride % self.extent


def expand(factors: Sequence[Factor]) -> tuple[Digit, ...]:
    """Return the digits of a product of factors, outermost first, without those of extent 1."""
    # From the innermost digit outwards: the products of extents so far, in each dimension and in
    # each index, are the stride and the weight of the next digit.
    strides = [1] * common_rank(factors)
    weights = {"worker": 1, "register": 1}
    digits: list[Digit] = []
    for factor in reversed(factors):
        number = "register" if factor.kind == "repeat" else "worker"
        for dim, extent in reversed(list(enumerate(factor.dims))):
            if factor.kind == "replicate":
                digit = Digit(factor.kind, -1, extent, 0, weights[number])
            else:
                digit = Digit(factor.kind, dim, extent, strides[dim], weights[number])
                strides[dim] *= extent
            weights[number] *= extent
            if extent > 1:
                digits.append(digit)
    return tuple(reversed(digits))


def digit_of(index: Any, stride: int, extent: int, limit: int) -> Any:
    """Return a digit of an index below a limit, which may be symbolic: no redundant operators."""
    digit = index if stride == 1 else index // stride
    return digit % extent if stride * extent < limit else digit


def canonical(factors: Sequence[Factor]) -> tuple[Factor, ...]:
    """Return the canonical form of a product.

    As a function, a map is determined by two lists of digits: those of the register and those of
    the worker. In each list, adjacent digits are merged if they are contiguous in one dimension.
    The result is unique: counting up from 0, the least significant digit ends where the task stops
    moving by equal strides, and so on for the next ones.

    The two lists are then written as the shortest product, registers first among equals, so that
    equal functions have equal products. The only choice is how to interleave the lists, constrained
    by the strides: in one dimension, digits of larger stride are further out.
    """
    rank = common_rank(factors)
    digits = expand(factors)
    registers = merge(digit for digit in digits if digit.kind == "repeat")
    workers = merge(digit for digit in digits if digit.kind != "repeat")
    product = shortest_product(registers, workers, rank)
    # A map without dimensions of extent > 1 still has a rank.
    if all(factor.kind == "replicate" for factor in product):
        product = unit_factors(rank) + product
    return product or (Factor("replicate", (1,)),)


def merge(digits: Iterable[Digit]) -> list[Digit]:
    """Merge adjacent digits of one number that are contiguous in one dimension."""
    merged: list[Digit] = []
    for inner in digits:
        outer = merged[-1] if merged else None
        if (
            outer is not None
            and (outer.kind, outer.dim) == (inner.kind, inner.dim)
            and outer.stride == inner.stride * inner.extent
        ):
            extent = outer.extent * inner.extent
            merged[-1] = Digit(inner.kind, inner.dim, extent, inner.stride, inner.weight)
        else:
            merged.append(inner)
    return merged


def shortest_product(
    registers: Sequence[Digit], workers: Sequence[Digit], rank: int
) -> tuple[Factor, ...]:
    """Return the shortest product with these two lists of digits."""

    # Factors are as long as possible, which only shortens the rest. The choice at each factor is
    # whether it holds registers or workers.
    @cache
    def rest(register: int, worker: int) -> tuple[Factor, ...]:
        left_registers, left_workers = registers[register:], workers[worker:]
        products: list[tuple[Factor, ...]] = []
        if length := leading_run(left_registers, left_workers):
            factor = factor_of(left_registers[:length], rank)
            products.append((factor, *rest(register + length, worker)))
        if length := leading_run(left_workers, left_registers):
            factor = factor_of(left_workers[:length], rank)
            products.append((factor, *rest(register, worker + length)))
        return min(products, key=len, default=())

    return rest(0, 0)


def leading_run(digits: Sequence[Digit], others: Sequence[Digit]) -> int:
    """Return how many leading digits one factor can hold before the digits in `others`."""
    for length, digit in enumerate(digits):
        previous = digits[length - 1] if length > 0 else None
        joins = previous is None or (previous.kind == digit.kind and previous.dim < digit.dim)
        ready = all(other.dim != digit.dim or other.stride < digit.stride for other in others)
        if not (joins and ready):
            return length
    return len(digits)


def factor_of(digits: Sequence[Digit], rank: int) -> Factor:
    """Return the factor of digits of one kind and of ascending dimensions."""
    kind = digits[0].kind
    if kind == "replicate":
        return Factor(kind, (digits[0].extent,))
    extents = {digit.dim: digit.extent for digit in digits}
    return Factor(kind, tuple(extents.get(dim, 1) for dim in range(rank)))
