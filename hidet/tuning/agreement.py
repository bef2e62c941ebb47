"""Whether the results of candidates agree, but for the order in which they were summed."""

from collections.abc import Sequence

import torch

ROUNDINGS = 8
"""So many roundings of the result's type two candidates may be apart, relative to its size."""

SUM_ROUNDINGS = 4
"""The same for roundings of the sums, which are float32 or wider, for each square root of their
length: errors of many additions go like a random walk."""

DIFFERENT_STEPS = 1e-3
"""The share of integers that may differ: a comparison or a rounding in the epilogue turns the
least difference of sums into another number."""

PART = 1 << 24
"""So many elements are compared at a time, for the memory that it takes."""


def difference(one: Sequence[torch.Tensor], other: Sequence[torch.Tensor], length: int) -> float:
    """Return how far results are apart, as a multiple of what is allowed: 1 or less is agreement.

    NaN has to meet NaN and infinities the same infinity.

    Args:
        one: the results of a candidate.
        other: those of another one.
        length: how many products were summed for an element.
    """
    return max((_difference(a, b, length) for a, b in zip(one, other, strict=True)), default=0.0)


def _difference(a: torch.Tensor, b: torch.Tensor, length: int) -> float:
    if a.numel() == 0:
        return 0.0
    if not a.dtype.is_floating_point:
        return float((a != b).float().mean()) / DIFFERENT_STEPS
    rounding = torch.finfo(a.dtype).eps
    wide = torch.promote_types(a.dtype, torch.float32)
    parts = list(zip(_parts(a), _parts(b), strict=True))
    squares = sum(float(y[y.isfinite()].to(wide).square().sum()) for _, y in parts)
    size = (squares / b.numel()) ** 0.5
    sums = SUM_ROUNDINGS * torch.finfo(wide).eps * max(length, 1) ** 0.5
    relative = ROUNDINGS * rounding + sums
    return max(_part_difference(x.to(wide), y.to(wide), relative, size) for x, y in parts)


def _parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    """Cut the elements of a tensor."""
    flat = tensor.flatten()
    return [flat[start : start + PART] for start in range(0, flat.numel(), PART)]


def _part_difference(a: torch.Tensor, b: torch.Tensor, relative: float, size: float) -> float:
    """Return how far parts of results are apart; the root of the mean square of all is `size`."""
    finite = a.isfinite() & b.isfinite()
    same = (a == b) | (a.isnan() & b.isnan())
    if not bool((finite | same).all()):
        return float("inf")
    a, b = torch.where(finite, a, 0), torch.where(finite, b, 0)
    allowed = relative * (b.abs() + size) + torch.finfo(b.dtype).tiny
    return float(((a - b).abs() / allowed).max())
