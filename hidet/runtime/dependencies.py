"""Dependencies between launches: RAW, WAR and WAW hazards, transitively reduced.

Buffers share bytes of the arena, so hazards are computed on byte ranges, not on buffers.
"""

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
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
        self._segments: list[_Segment] = []

    def note(self, launch: int, access: Access) -> set[int]:
        """Record an access; return the last launches that wrote these bytes, or read them since.

        A read only depends on the former.
        """
        place = self._isolate(access.start, access.stop)
        segments = self._segments[place]
        before = {segment.writer for segment in segments if segment.writer is not None}
        if access.writes:
            self._segments[place] = [_Segment(access.start, access.stop, launch)]
            return before.union(*(segment.readers for segment in segments))
        for segment in segments:
            segment.readers.append(launch)
        return before

    def _isolate(self, start: int, stop: int) -> slice:
        """Split segments at `start` and `stop`, fill gaps between, and return their positions.

        Untouched bytes become segments without history.
        """
        first, last = self._split(start), self._split(stop)
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
        return slice(first, first + len(filled))

    def _split(self, position: int) -> int:
        """Split the segment at `position`, if any; return the position of the next one."""
        index = bisect_left(self._segments, position, key=attrgetter("start"))
        before = self._segments[index - 1] if index else None
        if before is not None and position < before.stop:
            tail = replace(before, start=position, readers=list(before.readers))
            before.stop = position
            self._segments.insert(index, tail)
        return index


def find_dependencies(launches: Sequence[Sequence[Access]]) -> list[tuple[int, ...]]:
    """Return the earlier launches that each launch depends on, ascending, transitively reduced.

    The accesses of the launches are in sequential order.
    """
    memories: dict[Hashable, _Memory] = {}
    ahead: list[int] = []  # for each launch the set of those that precede it, and itself, as bits
    dependencies: list[tuple[int, ...]] = []
    for number, accesses in enumerate(launches):
        found: set[int] = set()
        for access in accesses:
            if access.start >= access.stop:
                continue
            found |= memories.setdefault(access.memory, _Memory()).note(number, access)
        found.discard(number)
        reached, direct = 0, list[int]()
        # Only a later launch can depend on another one, so the latest are visited first.
        for candidate in sorted(found, reverse=True):
            if not reached >> candidate & 1:
                direct.append(candidate)
                reached |= ahead[candidate]
        ahead.append(reached | 1 << number)
        dependencies.append(tuple(reversed(direct)))
    return dependencies
