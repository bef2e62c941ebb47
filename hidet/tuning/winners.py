"""The winners of searches, on disk: an entry of the cache each, which appears whole or not at all.

The entry of a winner is its metadata. Keys hold the problem and the space that was searched, so a
search of a larger space adds a winner, and replaces none; the first of two that search the same at
the same time stays. Entries leave like all others of the cache, when it is full.
"""

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hidet.backend.cache import Store

SPACES = (0, 1, 2)
"""What the option `search_space` may be: 0 measures nothing."""


@dataclass(frozen=True)
class Winner:
    """What a search has found.

    Attributes:
        config: the config, as the text of its attribute.
        microseconds: how long its kernel took.
        measured: how many candidates were measured.
        title: what was searched for, for people.
    """

    config: str
    microseconds: float
    measured: int
    title: str


class Winners:
    """The winners that a cache holds.

    Args:
        store: the cache.
    """

    def __init__(self, store: Store) -> None:
        self._entries = store.winners
        self._folder = store.folder.root / self._entries.namespace

    def find(self, problem: str, space: int) -> Winner | None:
        """Return the winner of a problem from a search of this space or a larger one."""
        for searched in reversed(range(max(space, 1), SPACES[-1] + 1)):
            entry = self._entries.entry(_key(problem, searched))
            if entry is not None:
                return _winner(entry.meta)
        return None

    def save(self, problem: str, space: int, winner: Winner) -> None:
        """Keep the winner of a problem.

        Raises:
            CacheError: it can be stored nowhere.
        """
        self._entries.put(_key(problem, space), {}, asdict(winner))

    def forget(self, problem: str, space: int) -> None:
        """Remove the winner of a problem from a search of this space, if there is one."""
        self._entries.remove(_key(problem, space))

    def state(self) -> str:
        """Return what changes when winners come and go: "" where there are none."""
        found = sorted(_version(place) for place in self._folder.glob("??/*"))
        return hashlib.sha256("".join(found).encode()).hexdigest() if found else ""


def _key(problem: str, space: int) -> str:
    return hashlib.sha256(f"{problem}\0{space}".encode()).hexdigest()


def _version(place: Path) -> str:
    """Tell an entry from others and from one that replaces it; "" if it is gone."""
    try:
        return f"{place.name} {place.stat().st_mtime_ns} "
    except FileNotFoundError:
        return ""


def _winner(meta: dict[str, Any]) -> Winner:
    """Read a winner; what the cache gives is what was written."""
    return Winner(**meta)
