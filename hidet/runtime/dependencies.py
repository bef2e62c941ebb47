"""Dependencies between launches: RAW, WAR and WAW hazards, transitively reduced.

Buffers share bytes of the arena, so hazards are computed on byte ranges, not on buffers.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Access(NamedTuple):
    """An access of a launch to the bytes [start, stop) of one memory."""

    memory: Hashable
    start: int
    stop: int
    writes: bool


@dataclass
class _Segment:
    """A byte range with its last writer, and the readers since."""

    start: int
    stop: int
    writer: int | None = None
    readers: list[int] = field(default_factory=list[int])


class _Memory:
    """The access history of one memory, as disjoint segments in ascending order.

    A read appends to segments, a write replaces all segments in its range by one. So each entry is
    visited a bounded number of times, and a chain of n launches takes O(n log n).
    """

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._segments: list[_Segment] = []

    def read(self, launch: int, start: int, stop: int) -> set[int]:
        """Record a read; return the launches that wrote these bytes."""
        first, last = self._isolate(start, stop)
        writers: set[int] = set()
        for segment in self._segments[first:last]:
            if segment.writer is not None:
                writers.add(segment.writer)
            segment.readers.append(launch)
        return writers

    def write(self, launch: int, start: int, stop: int) -> set[int]:
        """Record a write; return the last launches that wrote these bytes, and readers since."""
        first, last = self._isolate(start, stop)
        before: set[int] = set()
        for segment in self._segments[first:last]:
            before.update(segment.readers)
            if segment.writer is not None:
                before.add(segment.writer)
        self._segments[first:last] = [_Segment(start, stop, launch)]
        self._starts[first:last] = [start]
        return before

    def _isolate(self, start: int, stop: int) -> tuple[int, int]:
        """Split segments at `start` and `stop`, fill gaps between, and return their range.

        Untouched bytes become segments without history.
        """
        self._split(start)
        self._split(stop)
        first = bisect_left(self._starts, start)
        last = bisect_left(self._starts, stop)
        filled: list[_Segment] = []
        position = start
        for segment in self._segments[first:last]:
            if position < segment.start:
                filled.append(_Segment(position, segment.start))
            filled.append(segment)
            position = segment.stop
        if position < stop:
            filled.append(_Segment(position, stop))
        self._segments[first:last] = filled
        self._starts[first:last] = [segment.start for segment in filled]
        return first, first + len(filled)

    def _split(self, position: int) -> None:
        """Split the segment that contains `position`, if there is one."""
        index = bisect_right(self._starts, position) - 1
        if index < 0:
            return
        segment = self._segments[index]
        if segment.start < position < segment.stop:
            tail = _Segment(position, segment.stop, segment.writer, list(segment.readers))
            segment.stop = position
            self._segments.insert(index + 1, tail)
            self._starts.insert(index + 1, position)


class _Reachability:
    """Reachability between launches, by a chain decomposition of the graph.

    Each launch is on a chain, where every launch depends on the previous one, and stores how many
    launches of each chain precede it. This takes n * width integers, where the width of the graph
    is small for a neural network.
    """

    def __init__(self) -> None:
        self._chain_of: list[int] = []
        self._place_of: list[int] = []
        self._before: list[list[int]] = []
        self._lengths: list[int] = []

    def add(self, candidates: Iterable[int]) -> tuple[int, ...]:
        """Add the next launch, which depends on `candidates`; return the direct dependencies."""
        before = [0] * len(self._lengths)
        direct: list[int] = []
        # Only a later candidate can depend on another one, so the latest are visited first.
        for candidate in sorted(candidates, reverse=True):
            if before[self._chain_of[candidate]] > self._place_of[candidate]:
                continue
            direct.append(candidate)
            for chain, count in enumerate(self._before[candidate]):
                before[chain] = max(before[chain], count)
        self._append(before)
        return tuple(reversed(direct))

    def _append(self, before: list[int]) -> None:
        """Append the next launch to a chain whose end precedes it, or to a new one."""
        for chain, length in enumerate(self._lengths):
            if before[chain] == length:
                break
        else:
            chain = len(self._lengths)
            self._lengths.append(0)
            before.append(0)
        self._chain_of.append(chain)
        self._place_of.append(self._lengths[chain])
        self._lengths[chain] += 1
        before[chain] = self._lengths[chain]
        self._before.append(before)


def find_dependencies(launches: Sequence[Sequence[Access]]) -> list[tuple[int, ...]]:
    """Return the earlier launches that each launch depends on, ascending, transitively reduced.

    Args:
        launches: the accesses of each launch, in sequential order.
    """
    memories: dict[Hashable, _Memory] = {}
    reachability = _Reachability()
    dependencies: list[tuple[int, ...]] = []
    for number, accesses in enumerate(launches):
        found: set[int] = set()
        for access in accesses:
            if access.start >= access.stop:
                continue
            memory = memories.setdefault(access.memory, _Memory())
            note = memory.write if access.writes else memory.read
            found |= note(number, access.start, access.stop)
        found.discard(number)
        dependencies.append(reachability.add(found))
    return dependencies
