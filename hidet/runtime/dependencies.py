"""Which launches must wait for which: real data dependencies, without the implied ones.

Two launches depend on each other where they touch common bytes and one of them writes: read after
write, write after read, write after write. Bytes of the arena serve several buffers in turn, so it
is ranges of bytes that count, not buffers.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Access(NamedTuple):
    """A launch touches the bytes `start` up to `stop` of one memory."""

    memory: Hashable
    start: int
    stop: int
    writes: bool


@dataclass
class _Segment:
    """Bytes with one history: who wrote them last, and who has read them since."""

    start: int
    stop: int
    writer: int | None = None
    readers: list[int] = field(default_factory=list[int])


class _Memory:
    """The history of the bytes of one memory, as disjoint segments in ascending order.

    Reads append to segments, a write leaves one segment in place of all that it covers. So each
    entry is looked at a bounded number of times, and a chain of n launches costs O(n log n).
    """

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._segments: list[_Segment] = []

    def read(self, launch: int, start: int, stop: int) -> set[int]:
        """Note a read; give the launches that wrote what it reads."""
        first, last = self._isolate(start, stop)
        writers: set[int] = set()
        for segment in self._segments[first:last]:
            if segment.writer is not None:
                writers.add(segment.writer)
            segment.readers.append(launch)
        return writers

    def write(self, launch: int, start: int, stop: int) -> set[int]:
        """Note a write; give the launches that wrote or read these bytes since the last write."""
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
        """Make segments begin at `start` and end at `stop`, without gaps between; give their range.

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
        """Cut the segment that holds `position` inside, if one does."""
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
    """Answers whether one launch comes before another, through a cover of the graph by chains.

    Each launch sits on a chain, on which every launch comes after the previous one. A launch keeps,
    for each chain, how many launches of that chain come before it. This takes n * width numbers,
    where the width is that of the graph: a few for a neural network, however long.
    """

    def __init__(self) -> None:
        self._chain_of: list[int] = []
        self._place_of: list[int] = []
        self._before: list[list[int]] = []
        self._lengths: list[int] = []

    def add(self, candidates: Iterable[int]) -> tuple[int, ...]:
        """Add the next launch, which waits for `candidates`; give those that are not implied."""
        before = [0] * len(self._lengths)
        direct: list[int] = []
        # Only a later candidate can come after another one, so the latest are looked at first.
        for candidate in sorted(candidates, reverse=True):
            if before[self._chain_of[candidate]] > self._place_of[candidate]:
                continue
            direct.append(candidate)
            for chain, count in enumerate(self._before[candidate]):
                before[chain] = max(before[chain], count)
        self._append(before)
        return tuple(reversed(direct))

    def _append(self, before: list[int]) -> None:
        """Put the next launch on a chain whose end comes before it, or on a new one."""
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
    """Find what each launch must wait for.

    Args:
        launches: what each launch touches, in the order in which a single stream would run them.

    Returns:
        For each launch the earlier launches that it depends on, ascending and transitively reduced.
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


def follow_alone(dependencies: Sequence[Sequence[int]]) -> list[bool]:
    """Tell which launches wait for one other, and are the only ones to do so.

    Elsewhere nothing is ahead, or branches leave or meet.
    """
    followers = Counter(launch for before in dependencies for launch in before)
    return [len(before) == 1 and followers[before[0]] == 1 for before in dependencies]
