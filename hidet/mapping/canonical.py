"""The canonical form of a product of factors.

As a function, a map is determined by two lists of digits: those of the register and those of the
worker. In each list, adjacent digits are merged if they are contiguous in one dimension. The result
is unique: counting up from 0, the least significant digit ends where the task stops moving by equal
strides, and so on for the next ones.

The two lists are then written as the shortest product, registers first among equals, so that equal
functions have equal products. The only choice is how to interleave the lists, constrained by the
strides: in one dimension, digits of larger stride are further out.
"""

from collections.abc import Iterable, Sequence
from functools import cache

from hidet.mapping.digits import Digit, expand
from hidet.mapping.factors import Factor, common_rank, unit_factors


def canonical(factors: Sequence[Factor]) -> tuple[Factor, ...]:
    """Return the canonical form of a product."""
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
