"""The factors of task mappings."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from hidet.errors import HidetError

Kind = Literal["spatial", "repeat", "replicate"]
"""The kinds of factors."""


class MappingError(HidetError, ValueError):
    """An invalid task mapping, or a worker or task that a mapping does not have."""


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor of a product.

    Attributes:
        kind: the kind.
        dims: its extent in each dimension; for `replicate`, the number of workers.

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
    found = _HINT.findall(hints or "")
    if hints is not None and (_HINT.sub("", hints) or len(found) not in (1, rank)):
        raise MappingError(
            f"attrs={hints!r} has no hints for the {rank} loops of a repeat factor",
            hint="'u' unrolls a loop, '.' leaves it as it is: one for each, or one for all",
        )
    amounts = [_amount(hint) for hint in _HINT.findall(hints or ".")]
    return tuple(amounts * (rank if len(amounts) == 1 else 1))


def _amount(hint: str) -> int:
    """Return the unroll factor of a hint: of `.` and `p` 0, of `u4` 4."""
    return 0 if hint[0] in ".p" else int(hint[1:]) if hint[1:].isdigit() else UNROLLED
