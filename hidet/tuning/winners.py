"""The winners of searches, stored as entries of the cache.

A winner is the metadata of its entry. Keys contain the problem and the search space, so a search of
a larger space adds a winner and replaces none; the first of two concurrent searches wins. Entries
are evicted like others.
"""

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path

from hidet.backend.cache import Store, artifact_key

SPACES = (0, 1, 2)
"""The values of the option `search_space`; 0 measures nothing."""


@dataclass(frozen=True)
class Winner:
    """The result of a search; the config is the text of its attribute."""

    config: str
    microseconds: float
    measured: int
    title: str


class Winners:
    """The winners in a cache."""

    def __init__(self, store: Store) -> None:
        self._entries = store.winners
        self._folder = store.folder.root / self._entries.namespace

    def find(self, problem: str, space: int) -> Winner | None:
        """Return the winner of a problem from a search of this space or a larger one."""
        for searched in reversed(range(max(space, 1), SPACES[-1] + 1)):
            entry = self._entries.entry(artifact_key(problem, str(searched)))
            if entry is not None:
                return Winner(**entry.meta)
        return None

    def save(self, problem: str, space: int, winner: Winner) -> None:
        """Store the winner of a problem.

        Raises:
            CacheError: it cannot be stored.
        """
        self._entries.put(artifact_key(problem, str(space)), {}, asdict(winner))

    def forget(self, problem: str, space: int) -> None:
        """Remove the winner of a problem from a search of this space, if there is one."""
        self._entries.remove(artifact_key(problem, str(space)))

    def state(self) -> str:
        """Return a hash of the set of winners; "" if there are none."""
        found = sorted(_version(place) for place in self._folder.glob("??/*"))
        return hashlib.sha256("".join(found).encode()).hexdigest() if found else ""


def _version(place: Path) -> str:
    """Return the identity of an entry, which changes if it is replaced; "" if it is gone."""
    try:
        return f"{place.name} {place.stat().st_mtime_ns} "
    except FileNotFoundError:
        return ""
