"""Static memory planning: offsets of buffers with known lifetimes in one arena."""

from collections.abc import Sequence
from dataclasses import dataclass

ALIGNMENT = 256
"""The alignment of offsets in bytes, that of CUDA's allocations."""


@dataclass(frozen=True)
class Lifetime:
    """A buffer of `size` bytes that is live from step `first` to step `last`, inclusive."""

    first: int
    last: int
    size: int


def align(size: int) -> int:
    """Round a size up to the alignment."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def place(lifetimes: Sequence[Lifetime]) -> tuple[list[int], int]:
    """Assign offsets so that buffers that are live at the same step do not overlap.

    Buffers are placed by decreasing size, each at the lowest offset that is free during its
    lifetime. Apart from sorting, the work is proportional to the number of overlapping pairs. Empty
    buffers are at offset 0.

    Returns:
        The offsets, and the size of the arena.
    """
    overlaps = _overlaps(lifetimes)
    offsets: list[int | None] = [None] * len(lifetimes)
    total = 0
    by_size = sorted(range(len(lifetimes)), key=lambda i: (-lifetimes[i].size, lifetimes[i].first))
    for index in by_size:
        size = align(lifetimes[index].size)
        taken = sorted(
            (offset, offset + align(lifetimes[other].size))
            for other in overlaps[index]
            if (offset := offsets[other]) is not None
        )
        offsets[index] = offset = _first_gap(taken, size)
        total = max(total, offset + size)
    return [offset or 0 for offset in offsets], total


def _overlaps(lifetimes: Sequence[Lifetime]) -> list[list[int]]:
    """Return for each buffer those with an overlapping lifetime, by a sweep over the steps."""
    overlaps: list[list[int]] = [[] for _ in lifetimes]
    live: list[int] = []
    for index in sorted(range(len(lifetimes)), key=lambda i: lifetimes[i].first):
        if not lifetimes[index].size:
            continue
        live = [other for other in live if lifetimes[other].last >= lifetimes[index].first]
        for other in live:
            overlaps[index].append(other)
            overlaps[other].append(index)
        live.append(index)
    return overlaps


def _first_gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    """Return the lowest offset with `size` free bytes, given sorted occupied ranges."""
    position = 0
    for start, stop in taken:
        if size and position + size <= start:
            break
        position = max(position, stop)
    return position if size else 0
