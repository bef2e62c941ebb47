"""Where buffers with known lifetimes lie in one block of memory."""

from collections.abc import Sequence
from dataclasses import dataclass

ALIGNMENT = 256
"""What every offset is a multiple of, in bytes; it is that of CUDA's own allocations."""


@dataclass(frozen=True)
class Lifetime:
    """A buffer of `size` bytes that is in use from step `first` to step `last`, both included."""

    first: int
    last: int
    size: int


def align(size: int) -> int:
    """Round a number of bytes up to the alignment."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def place(lifetimes: Sequence[Lifetime]) -> tuple[list[int], int]:
    """Give each buffer an offset so that buffers in use at the same step do not overlap.

    The largest buffer is placed first, each at the lowest offset that is free for its whole
    lifetime. Apart from sorting, the work is proportional to the number of pairs of buffers in use
    at the same step, so it grows linearly with the length of a program. A buffer of size 0 lies at
    offset 0.

    Returns:
        The offsets, and the size of the block.
    """
    neighbours = _overlaps(lifetimes)
    offsets: list[int | None] = [None] * len(lifetimes)
    total = 0
    by_size = sorted(range(len(lifetimes)), key=lambda i: (-lifetimes[i].size, lifetimes[i].first))
    for index in by_size:
        size = align(lifetimes[index].size)
        taken = sorted(
            (offset, offset + align(lifetimes[other].size))
            for other in neighbours[index]
            if (offset := offsets[other]) is not None
        )
        offsets[index] = offset = _first_gap(taken, size)
        total = max(total, offset + size)
    return [offset or 0 for offset in offsets], total


def _overlaps(lifetimes: Sequence[Lifetime]) -> list[list[int]]:
    """Find for each buffer the others in use at the same step, by one sweep over the steps."""
    neighbours: list[list[int]] = [[] for _ in lifetimes]
    live: list[int] = []
    for index in sorted(range(len(lifetimes)), key=lambda i: lifetimes[i].first):
        if not lifetimes[index].size:
            continue
        live = [other for other in live if lifetimes[other].last >= lifetimes[index].first]
        for other in live:
            neighbours[index].append(other)
            neighbours[other].append(index)
        live.append(index)
    return neighbours


def _first_gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    """Find the lowest offset at which `size` bytes are free, given what is taken in order."""
    position = 0
    for start, stop in taken:
        if size and position + size <= start:
            break
        position = max(position, stop)
    return position if size else 0
