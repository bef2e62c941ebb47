"""Stores and finds entries by key."""

import errno
import hashlib
import re
import time
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hidet.backend.cache.entry import DamagedEntryError, Entry, read_entry, write_entry
from hidet.backend.cache.folder import GRACE_SECONDS, NAMESPACES, CacheFolder, EntryInfo, mark_used
from hidet.backend.temporary import remove_tree, sweep
from hidet.errors import CacheError
from hidet.forks import FORK_HANDLERS

if TYPE_CHECKING:
    from filelock import BaseFileLock

DEFAULT_MAX_BYTES = 4 << 30

ATTEMPTS = 50
"""The number of attempts to publish an entry while other processes write or remove it."""


class CacheWarning(UserWarning):
    """The cache cannot be used; the program continues without it."""


def artifact_key(*parts: str) -> str:
    """Return the key of what texts determine: a source and `Toolchain.fingerprint` its binary."""
    return hashlib.sha256("".join(f"{len(part)}\0{part}" for part in parts).encode()).hexdigest()


class Store:
    """The cache of a user: a folder of a bounded size.

    If the size exceeds the limit, the least recently used entries are evicted until a tenth is
    free, except those used in the last ten minutes.

    Raises:
        CacheError: other users can write to the folder.
    """

    def __init__(self, root: Path, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self.folder = CacheFolder(root.expanduser().absolute())
        self.max_bytes = max_bytes
        self._mutex = FORK_HANDLERS.lock()
        self._unchecked_bytes = max_bytes  # written since the size was last checked
        self.kept: dict[Path, Entry] = {}
        """The entries that could not be written, by the folder that they would have."""
        self.kernels, self.programs, self.winners, self.traces = (
            ArtifactCache(self, namespace) for namespace in NAMESPACES
        )

    def entries(self) -> list[EntryInfo]:
        """List all entries, the least recently used first."""
        return self.folder.entries()

    def size(self) -> int:
        """Return the size of all entries in bytes."""
        return sum(info.bytes for info in self.entries())

    def clear(self) -> int:
        """Remove all entries; return the number of bytes freed."""
        if not self.folder.root.exists():
            return 0
        self.folder.prepare()
        self.folder.remove_leftovers()
        freed = 0
        with self.folder.lock(exclusive=True):
            for info in self.entries():
                if self.folder.take_away(info.path):
                    freed += info.bytes
        return freed

    def evict(self) -> None:
        """Remove leftovers, and the least recently used entries if the limit is exceeded."""
        self.folder.remove_leftovers()
        sweep()
        entries = self.entries()
        excess = sum(info.bytes for info in entries) - self.max_bytes
        if excess <= 0:
            return
        excess += self.max_bytes // 10
        limit = time.time() - GRACE_SECONDS
        with self.folder.lock(exclusive=True):
            for info in entries:
                if excess <= 0 or info.last_used > limit:
                    break
                if self.folder.take_away(info.path, unless_used_since=limit):
                    excess -= info.bytes

    def note_written(self, size: int) -> None:
        """Check the size of the cache at the first write, and again after many bytes."""
        with self._mutex:
            self._unchecked_bytes += size
            if self._unchecked_bytes < self.max_bytes // 64:
                return
            self._unchecked_bytes = 0
        self.evict()

    def keep(self, entry: Entry, reason: OSError) -> None:
        """Keep an entry in memory, since it cannot be written; the first one with a warning."""
        with self._mutex:
            is_first = not self.kept
            self.kept[entry.path] = entry
        if is_first:
            warnings.warn(
                f"the cache {self.folder.root} cannot be written ({reason.strerror}): what is "
                "compiled now is kept for this process only",
                CacheWarning,
                stacklevel=2,
            )


open_store = cache(Store)
"""Returns the store of a folder, once per process."""


class ArtifactCache:
    """One namespace of a store: entries of files and metadata under keys."""

    def __init__(self, store: Store, namespace: str) -> None:
        self.store = store
        self.namespace = namespace

    def entry(self, key: str, check: Callable[[Entry], None] | None = None) -> Entry | None:
        """Return an entry, or None. It is not evicted for at least ten minutes.

        A damaged entry is removed, with a warning. `check` raises `DamagedEntryError` for one that
        is intact, but useless.

        Raises:
            CacheError: other users can write to the cache, or to the entry.
        """
        place = self._place(key)
        if place in self.store.kept:
            return self.store.kept[place]
        try:
            with self.store.folder.lock(exclusive=False):
                entry = self._read(key, check)
                mark_used(place)
                return entry
        except DamagedEntryError as damage:
            self._remove_damaged(key, check, damage)
            return None
        except OSError:  # missing or inaccessible; `put` reports the latter
            return None

    def put(self, key: str, files: Mapping[str, bytes], meta: Mapping[str, Any]) -> Path:
        """Store an entry; return its folder. A key determines the content.

        If the cache cannot be written (the disk is full, there is no permission, ...), the entry is
        kept in memory, with one warning. The key is a sha256 in hexadecimal; for the others see
        `write_entry`.

        Raises:
            CacheError: other users can write to the cache.
        """
        place, folder = self._place(key), self.store.folder
        try:
            folder.prepare()
            temporary = folder.new_temporary()
            try:
                write_entry(temporary, key, files, meta)
                size = sum(file.stat().st_size for file in temporary.iterdir())
                # Another process may have published the entry first, which is as good unless it is
                # damaged: reading it removes it then. Or the cache is being cleared. Both are
                # races, which are not lost so often in a row.
                for _ in range(ATTEMPTS):
                    if folder.publish(temporary, place) or self.entry(key) is not None:
                        break
                    time.sleep(0.001)
                else:
                    raise OSError(errno.EEXIST, f"{place} cannot be replaced")
            finally:
                remove_tree(temporary)
            self.store.note_written(size)
        except OSError as error:
            self.store.keep(Entry(place, dict(files), dict(meta)), error)
        return place

    def remove(self, key: str) -> None:
        """Remove an entry, if it exists."""
        folder = self.store.folder
        try:
            with folder.lock(exclusive=True):
                folder.take_away(self._place(key))
        except OSError:  # missing or inaccessible; `put` reports the latter
            return

    @contextmanager
    def building(self, key: str, give_up: Callable[[], bool] = lambda: False) -> Generator[None]:
        """Hold a lock while building an entry, so that other processes wait instead of building it.

        It is an optimization: if the lock file cannot be created, there is no lock.
        """
        from filelock import FileLock  # a warm start does not need it

        lock: BaseFileLock | None = None
        try:
            self.store.folder.prepare()
            lock = FileLock(self.store.folder.lock_file(self._place(key).parent.name))
            lock.acquire(cancel_check=give_up)
        except (OSError, NotImplementedError):  # some file systems do not support locks
            lock = None
        try:
            yield
        finally:
            if lock is not None:
                lock.release()

    def _place(self, key: str) -> Path:
        if re.fullmatch(r"[0-9a-f]{64}", key) is None:
            raise CacheError(f"'{key}' is not a key, which is a sha256 in hexadecimal")
        return self.store.folder.place(self.namespace, key)

    def _read(self, key: str, check: Callable[[Entry], None] | None) -> Entry:
        """Read and check an entry.

        Raises:
            CacheError: other users can write to it.
            DamagedEntryError: it is damaged, or `check` rejects it.
            OSError: it is missing or inaccessible.
        """
        place = self._place(key)
        self.store.folder.check_way(place)
        entry = read_entry(place, key)
        if check is not None:
            check(entry)
        return entry

    def _remove_damaged(
        self, key: str, check: Callable[[Entry], None] | None, damage: DamagedEntryError
    ) -> None:
        """Remove a damaged entry, unless another process has replaced it meanwhile."""
        place = self._place(key)
        warnings.warn(
            f"the cache entry {place} is damaged and will be built again: {damage}",
            CacheWarning,
            stacklevel=2,
        )
        folder = self.store.folder
        try:
            with folder.lock(exclusive=True):
                try:
                    self._read(key, check)
                except DamagedEntryError:
                    parent = place.parent
                    is_folder = parent.is_dir() and not parent.is_symlink()
                    folder.take_away(place if is_folder else parent)
        except OSError:  # missing or inaccessible; `put` reports the latter
            return
