"""The canonical form of a product of factors.

A map, as a function, is fixed by two lists of digits: those of the register number and those of the
worker number. In each list, neighbours are merged when together they count on in one dimension.
What is left is unique: count the number up from 0; its least significant digit ends where the task
ceases to move by equal steps, the next one likewise in units of the first, and so on.

The two lists are then written as one product by a rule that looks at nothing else, so that equal
functions give equal products: it is the shortest product, and where several are as short, the one
that writes registers first. All that the rule chooses is how to interleave the lists. There it is
bound by the strides: in one dimension, digits of larger stride stand further out.
"""

from collections.abc import Iterable, Sequence
from functools import cache

from hidet.mapping.digits import Digit, expand
from hidet.mapping.factors import Factor, common_rank, unit_factors


def canonical(factors: Sequence[Factor]) -> tuple[Factor, ...]:
    """Return the factors of the canonical form of a product.

    Raises:
        MappingError: if the ranks of two factors differ.
    """
    rank = common_rank(factors)
    digits = expand(factors)
    registers = merge(digit for digit in digits if digit.kind == "repeat")
    workers = merge(digit for digit in digits if digit.kind != "repeat")
    product = shortest_product(registers, workers, rank)
    # What has no dimensions left, one worker or replicas of it, still has a rank.
    if all(factor.kind == "replicate" for factor in product):
        product = unit_factors(rank) + product
    return product or (Factor("replicate", (1,)),)


def merge(digits: Iterable[Digit]) -> list[Digit]:
    """Merge neighbouring digits of one number where the outer one counts on from the inner one."""
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
    """Return the product with the fewest factors that has these two lists of digits."""

    # A factor may as well be as long as it can be: the rest only gets shorter. So the choice at
    # each factor is whether it holds registers or workers.
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
    """Return how many leading digits one factor can hold while `others` are still to be written."""
    for length, digit in enumerate(digits):
        previous = digits[length - 1] if length > 0 else None
        joins = previous is None or (previous.kind == digit.kind and previous.dim < digit.dim)
        ready = all(other.dim != digit.dim or other.stride < digit.stride for other in others)
        if not (joins and ready):
            return length
    return len(digits)


def factor_of(digits: Sequence[Digit], rank: int) -> Factor:
    """Return the factor that holds digits of one kind and of ascending dimensions."""
    kind = digits[0].kind
    if kind == "replicate":
        return Factor(kind, (digits[0].extent,))
    extents = {digit.dim: digit.extent for digit in digits}
    return Factor(kind, tuple(extents.get(dim, 1) for dim in range(rank)))
