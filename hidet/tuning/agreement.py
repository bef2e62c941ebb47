"""Compares the results of candidates up to the rounding errors of reordered sums."""

from collections.abc import Sequence

import torch

ROUNDINGS = 8
"""The tolerance in units of the result type's epsilon, relative to the size of the results."""

SUM_ROUNDINGS = 4
"""The tolerance in units of the epsilon of the sums, which are float32 or wider, per square root of
their length: rounding errors accumulate like a random walk."""

DIFFERENT_STEPS = 1e-3
"""The fraction of integers that may differ: a comparison or a rounding in the epilogue amplifies
the smallest difference of sums."""

PART = 1 << 24
"""The number of elements to compare at a time, to limit memory."""


def difference(one: Sequence[torch.Tensor], other: Sequence[torch.Tensor], length: int) -> float:
    """Return the distance of the results of two candidates relative to the tolerance.

    They agree if it is at most 1. NaN equals NaN, and infinities have to be equal. `length` is the
    extent of the contracted dimension.
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
    """Split the elements of a tensor."""
    flat = tensor.flatten()
    return [flat[start : start + PART] for start in range(0, flat.numel(), PART)]


def _part_difference(a: torch.Tensor, b: torch.Tensor, relative: float, size: float) -> float:
    """Return the distance of parts of results, whose root mean square is `size`."""
    finite = a.isfinite() & b.isfinite()
    same = (a == b) | (a.isnan() & b.isnan())
    if not bool((finite | same).all()):
        return float("inf")
    a, b = torch.where(finite, a, 0), torch.where(finite, b, 0)
    allowed = relative * (b.abs() + size) + torch.finfo(b.dtype).tiny
    return float(((a - b).abs() / allowed).max())
