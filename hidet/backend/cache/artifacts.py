"""Storing and finding entries by key."""

import atexit
import errno
import hashlib
import os
import re
import tempfile
import time
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hidet.backend.cache.entry import DamagedEntryError, Entry, read_entry, write_entry
from hidet.backend.cache.folder import GRACE_SECONDS, NAMESPACES, CacheFolder, EntryInfo, mark_used
from hidet.backend.temporary import make_folder, remove_tree, sweep
from hidet.errors import CacheError
from hidet.forks import FORK_HANDLERS

if TYPE_CHECKING:
    from filelock import BaseFileLock

DEFAULT_MAX_BYTES = 4 << 30


class CacheWarning(UserWarning):
    """The cache cannot do its work, but the program goes on without it."""


def artifact_key(source: str, fingerprint: str) -> str:
    """Return the key of what a compiler makes.

    Args:
        source: what is compiled.
        fingerprint: all else that decides over the result, as `Toolchain.fingerprint` tells.
    """
    return hashlib.sha256(f"{len(source)}\0{source}\0{fingerprint}".encode()).hexdigest()


class Store:
    """The cache of a user: a folder of a bounded size.

    Args:
        root: the folder.
        max_bytes: what its files may take. When they exceed it, the entries that were not used for
            the longest time go, until a tenth is free. Entries of the last ten minutes stay.

    Raises:
        CacheError: others than the user can write to the folder.
    """

    def __init__(self, root: Path, *, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self.folder = CacheFolder(root.expanduser().absolute())
        self.max_bytes = max_bytes
        self._mutex = FORK_HANDLERS.lock()
        self._unchecked_bytes = max_bytes  # written since the size was last looked at
        self._private: Path | None = None

    @property
    def kernels(self) -> "ArtifactCache":
        """The binaries of compilers."""
        return ArtifactCache(self, "kernels")

    @property
    def programs(self) -> "ArtifactCache":
        """What the passes made of graphs."""
        return ArtifactCache(self, "programs")

    @property
    def winners(self) -> "ArtifactCache":
        """What the tuner has found."""
        return ArtifactCache(self, "winners")

    def entries(self) -> list[EntryInfo]:
        """List all entries, the one that was not used for the longest time first."""
        return self.folder.entries()

    def size(self) -> int:
        """Add up the bytes of all entries."""
        return sum(info.bytes for info in self.entries())

    def clear(self) -> int:
        """Remove all entries; return the number of bytes that they took."""
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
        """Remove leftovers, and what was not used for the longest time where there is too much."""
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
        """Look at the size of the cache at the first write, and again when much was written."""
        with self._mutex:
            self._unchecked_bytes += size
            if self._unchecked_bytes < self.max_bytes // 64:
                return
            self._unchecked_bytes = 0
        self.evict()

    @property
    def private_folder(self) -> Path | None:
        """The folder of this process for what cannot go to the cache, if it was needed."""
        return self._private

    def make_private_folder(self, reason: OSError) -> Path:
        """Return that folder, and make it, with a warning, if it is needed for the first time."""
        with self._mutex:
            if self._private is None:
                self._private, _ = make_folder()  # locked until the process ends
                atexit.register(_remove_own_folder, self._private, os.getpid())
                warnings.warn(
                    f"the cache {self.folder.root} cannot be written ({reason.strerror}): what is "
                    "compiled now is kept for this process only",
                    CacheWarning,
                    stacklevel=2,
                )
            return self._private


@cache
def open_store(root: Path, max_bytes: int) -> Store:
    """Open each cache once a process.

    Raises:
        CacheError: others than the user can write to the folder.
    """
    return Store(root, max_bytes=max_bytes)


class ArtifactCache:
    """One namespace of a store: entries of files and metadata under keys.

    Args:
        store: the store, or its root folder.
        namespace: a name of `NAMESPACES`.

    Raises:
        CacheError: there is no such namespace, or the root folder is not safe to use.
    """

    def __init__(self, store: Store | Path, namespace: str = "kernels") -> None:
        if namespace not in NAMESPACES:
            raise CacheError(f"no namespace '{namespace}'", hint=f"there is {NAMESPACES}")
        self.store = store if isinstance(store, Store) else Store(store)
        self.namespace = namespace

    def get(self, key: str) -> Path | None:
        """Return the folder of an entry, with all its files, or None."""
        entry = self.entry(key)
        return None if entry is None else entry.path

    def entry(self, key: str, check: Callable[[Entry], None] | None = None) -> Entry | None:
        """Return an entry, or None. Its files stay for ten minutes at least.

        A damaged entry is removed, with a warning.

        Args:
            key: its key.
            check: raises `DamagedEntryError` for an entry that is intact, but of no use.

        Raises:
            CacheError: others can write to the cache, or to the entry.
        """
        place = self._place(key)
        if (private := self._private_entry(key)) is not None:
            return private
        try:
            with self.store.folder.lock(exclusive=False):
                entry = self._read(key, check)
                mark_used(place)
                return entry
        except DamagedEntryError as damage:
            self._remove_damaged(key, check, damage)
            return None
        except OSError:  # there is none, or no access; where that matters, `put` says so
            return None

    def put(self, key: str, files: Mapping[str, Path | bytes], meta: Mapping[str, Any]) -> Path:
        """Store an entry; return its folder. The same key always stands for the same content.

        Where the cache cannot be written (the disk is full, there is no permission, ...), the entry
        goes to a temporary folder of this process, with one warning.

        Args:
            key: a sha256 in hexadecimal.
            files: by name, the content or the file to copy; there may be none.
            meta: what JSON can hold.

        Raises:
            CacheError: others can write to the cache, or there is no room in the temporary folder
                either.
        """
        place = self._place(key)
        try:
            return self._put(place, key, files, meta)
        except OSError as error:
            return self._put_private(key, files, meta, error)

    def remove(self, key: str) -> None:
        """Remove an entry, if it is there."""
        folder = self.store.folder
        try:
            with folder.lock(exclusive=True):
                folder.take_away(self._place(key))
        except OSError:  # there is no cache, or it cannot be written, as `put` will find
            return

    @contextmanager
    def building(self, key: str, give_up: Callable[[], bool] = lambda: False) -> Generator[None]:
        """Hold a lock while building an entry, so that others wait for it instead of building too.

        It only saves work: where the file of a lock cannot be, there is none.
        """
        from filelock import FileLock  # a start with a full cache does without

        lock: BaseFileLock | None = None
        try:
            self.store.folder.prepare()
            lock = FileLock(self.store.folder.lock_file(self._place(key).parent.name))
            lock.acquire(cancel_check=give_up)
        except (OSError, NotImplementedError):  # there are file systems without locks
            lock = None
        try:
            yield
        finally:
            if lock is not None:
                lock.release()

    def _place(self, key: str) -> Path:
        if re.fullmatch(r"[0-9a-f]{64}", key) is None:
            raise CacheError(f"'{key}' is no key: it takes a sha256 in hexadecimal")
        return self.store.folder.place(self.namespace, key)

    def _put(
        self, place: Path, key: str, files: Mapping[str, Path | bytes], meta: Mapping[str, Any]
    ) -> Path:
        folder = self.store.folder
        folder.prepare()
        temporary = folder.new_temporary()
        try:
            write_entry(temporary, key, files, meta)
            size = sum(file.stat().st_size for file in temporary.iterdir())
            # Where another process was faster its entry is as good, unless it is damaged; reading
            # it removes it then. Or somebody clears the cache meanwhile. Ten times in a row, that
            # is not a matter of speed any more.
            for _ in range(10):
                if folder.publish(temporary, place) or self.entry(key) is not None:
                    break
            else:
                raise OSError(errno.EEXIST, f"{place} cannot be replaced")
        finally:
            remove_tree(temporary)
        self.store.note_written(size)
        return place

    def _read(self, key: str, check: Callable[[Entry], None] | None) -> Entry:
        """Read and check an entry.

        Raises:
            CacheError: others can write to it.
            DamagedEntryError: it is not what was written, or `check` does not want it.
            OSError: there is none, or no access.
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
        """Remove an entry that is damaged, unless somebody has replaced it meanwhile."""
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
                    folder.take_away(place if _is_folder(place.parent) else place.parent)
        except OSError:  # it is gone, or cannot be removed, nor replaced, as `put` will find
            return

    def _private_entry(self, key: str) -> Entry | None:
        """Return an entry that this process could not put on the disk."""
        folder = self.store.private_folder
        place = None if folder is None else folder / self.namespace / key
        try:
            return None if place is None else read_entry(place, key)
        except (FileNotFoundError, DamagedEntryError):
            return None

    def _put_private(
        self, key: str, files: Mapping[str, Path | bytes], meta: Mapping[str, Any], reason: OSError
    ) -> Path:
        try:
            folder = self.store.make_private_folder(reason)
            place = folder / self.namespace / key
            place.parent.mkdir(exist_ok=True)
            if self._private_entry(key) is None:
                remove_tree(place)
                temporary = Path(tempfile.mkdtemp(dir=folder))
                write_entry(temporary, key, files, meta)
                temporary.rename(place)
        except OSError as error:
            raise CacheError(
                f"there is no room for a compiled artifact, neither in the cache "
                f"{self.store.folder.root} nor in {tempfile.gettempdir()}: {error.strerror}",
                hint="free some space, or set HIDET_CACHE_DIR and TMPDIR to folders that have some",
            ) from error
        return place


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _remove_own_folder(folder: Path, owner: int) -> None:
    """Remove a folder at the end of the process that made it, not at that of a fork."""
    if os.getpid() == owner:
        remove_tree(folder)
