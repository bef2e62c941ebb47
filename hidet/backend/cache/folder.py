"""The folder of the cache on disk: who may use it, what is in it, and what leaves when it is full.

    <root>/                       mode 0700
        kernels/<kk>/<key>/       an entry; kk are the first two digits of the key
        programs/<kk>/<key>/
        winners/<kk>/<key>/
        temporary/                entries that are being written or removed
        locks/<kk>                held while an entry is being built

An entry appears and disappears by one rename between its place and `temporary`, so others see all
of it or nothing. Readers hold a shared lock of the root folder while they mark an entry as used;
whoever takes entries away holds it exclusively.

What is found there may be anything: no folder, but a file, a link or a FIFO, or something of
another user. In the place of an entry or a lock it is taken away; in that of a folder above, it is
refused.
"""

import errno
import fcntl
import os
import stat
import tempfile
import time
import uuid
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hidet.backend.cache.entry import DESCRIPTION, DamagedEntryError, sync_folder
from hidet.backend.temporary import remove_tree
from hidet.errors import CacheError

NAMESPACES = ("kernels", "programs", "winners")

GRACE_SECONDS = 600.0
"""An entry that was used in this time is not evicted: somebody may be about to open its files."""

LEFTOVER_SECONDS = 3600.0
"""Temporary folders of this age belong to processes that died."""

HINT = "choose another folder: set HIDET_CACHE_DIR, or the option cache_dir"


@dataclass(frozen=True)
class EntryInfo:
    """What is known of an entry without opening it.

    Attributes:
        namespace: the kind of entry.
        key: its key.
        path: its folder.
        bytes: the size of its files.
        last_used: seconds since the epoch.
    """

    namespace: str
    key: str
    path: Path
    bytes: int
    last_used: float


class CacheFolder:
    """The folder of a cache. It is made when first used.

    Args:
        root: where it is.

    Raises:
        CacheError: it exists, and others than the user can write to it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        try:
            self._check(root.stat(), root)
        except OSError:
            return  # it is not there, or `prepare` says what is wrong with it

    def prepare(self) -> None:
        """Make the folders that are missing.

        Raises:
            CacheError: something else is in their place, or others can write to one of them.
            OSError: the file system is full or read-only, or there is no permission.
        """
        try:
            self.root.parent.mkdir(parents=True, exist_ok=True)
            self.root.mkdir(mode=0o700, exist_ok=True)
            self._check(self.root.stat(), self.root)
            for name in (*NAMESPACES, "temporary", "locks"):
                path = self.root / name
                path.mkdir(mode=0o700, exist_ok=True)
                self._check(path.lstat(), path)
        except (FileExistsError, NotADirectoryError) as error:
            raise CacheError(
                f"the cache folder cannot be made: {error}", where=str(self.root), hint=HINT
            ) from error
        if os.statvfs(self.root).f_flag & os.ST_NOEXEC:
            raise OSError(errno.EACCES, "nothing can be executed from its file system (noexec)")

    def _check(self, status: os.stat_result, path: Path) -> None:
        """Refuse a folder in which others could plant code."""
        what = "the cache folder" if path == self.root else f"'{path.name}' in the cache folder"
        if not stat.S_ISDIR(status.st_mode):
            raise CacheError(f"{what} cannot be made: it is no folder", where=str(path), hint=HINT)
        if status.st_uid != os.geteuid():
            raise CacheError(
                f"{what} belongs to another user (uid {status.st_uid})",
                where=str(path),
                hint=HINT,
            )
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise CacheError(
                f"others can write to {what} (mode {stat.S_IMODE(status.st_mode):o})",
                where=str(path),
                hint=f"run: chmod go-w '{path}'",
            )

    def check_way(self, place: Path) -> None:
        """Check all folders down to that of an entry.

        Raises:
            CacheError: one belongs to somebody else, or others can write to it.
            DamagedEntryError: in the place of the entry, or of the folder above it, is no folder.
            OSError: there is no entry, or no access.
        """
        self._check(self.root.stat(), self.root)
        self._check(place.parents[1].lstat(), place.parents[1])
        for path in (place.parent, place):
            status = path.lstat()
            if not stat.S_ISDIR(status.st_mode):
                raise DamagedEntryError(f"{path} is no folder")
            self._check(status, path)

    def place(self, namespace: str, key: str) -> Path:
        """Return the folder of an entry, which need not exist."""
        return self.root / namespace / key[:2] / key

    def new_temporary(self) -> Path:
        """Make a folder that nobody else looks at."""
        return Path(tempfile.mkdtemp(dir=self.root / "temporary"))

    def publish(self, temporary: Path, place: Path) -> bool:
        """Move a complete entry to its place; false if there is one already."""
        try:
            place.parent.mkdir(mode=0o700, exist_ok=True)
        except FileExistsError:
            return False  # no folder: whoever reads an entry of it takes it away
        try:
            temporary.rename(place)
        except OSError:
            if not os.path.lexists(place):
                raise
            return False
        sync_folder(place.parent)
        return True

    def take_away(self, place: Path, *, unless_used_since: float | None = None) -> bool:
        """Remove an entry. The caller holds the exclusive lock.

        Args:
            place: its folder.
            unless_used_since: leave it if it was used since then (seconds since the epoch).
        """
        if unless_used_since is not None and last_use(place) > unless_used_since:
            return False
        grave = self.root / "temporary" / uuid.uuid4().hex
        try:
            place.rename(grave)
        except (FileNotFoundError, NotADirectoryError):
            return False  # somebody else has removed it
        _bury(grave)
        return True

    def lock_file(self, name: str) -> Path:
        """Return the path of a lock; what is no plain file is taken away from there.

        Raises:
            OSError: it cannot be.
        """
        path = self.root / "locks" / name
        if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
            self.take_away(path)
        return path

    @contextmanager
    def lock(self, *, exclusive: bool) -> Generator[None]:
        """Hold the lock of the folder, which exists; the system ends it with the process."""
        descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
            yield
        finally:
            # Closing is not enough: the child of a fork has the same descriptor, and thus the lock.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def entries(self) -> list[EntryInfo]:
        """List all entries, the one that was not used for the longest time first."""
        found = [info for namespace in NAMESPACES for info in self._entries_of(namespace)]
        return sorted(found, key=lambda info: (info.last_used, info.key))

    def _entries_of(self, namespace: str) -> Iterator[EntryInfo]:
        """List the entries of a namespace, less those that vanish meanwhile."""
        for folder in _list(self.root / namespace):
            for place in _list(folder):
                size = sum(_status(file).size for file in _list(place))
                if os.path.lexists(place):
                    yield EntryInfo(namespace, place.name, place, size, last_use(place))

    def remove_leftovers(self) -> None:
        """Remove what processes that died left in `temporary`."""
        limit = time.time() - LEFTOVER_SECONDS
        for path in _list(self.root / "temporary"):
            if _status(path).modified < limit:
                _bury(path)


class _Status(NamedTuple):
    """What counts of a file: its size in bytes, and when it was modified."""

    size: int
    modified: float


def last_use(place: Path) -> float:
    """Tell when an entry was last used; 0 if it has no description, or is gone."""
    return _status(place / DESCRIPTION).modified


def mark_used(place: Path) -> None:
    """Note that an entry is used now.

    Raises:
        FileNotFoundError: there is no such entry.
    """
    try:
        os.utime(place / DESCRIPTION)
    except FileNotFoundError:
        raise
    except OSError:
        return  # what cannot be written is not evicted either, but can be read


def _bury(path: Path) -> None:
    """Remove something in `temporary`, where nobody minds what cannot be removed."""
    try:
        remove_tree(path)
    except OSError:
        return


def _list(folder: Path) -> list[Path]:
    """List what is in a folder; nothing if it is gone, or none, or may not be read."""
    try:
        if folder.is_symlink():
            return []
        return list(folder.iterdir())
    except OSError:
        return []


def _status(path: Path) -> _Status:
    """Look at a file, not where it leads; of one that is gone or out of reach all is 0."""
    try:
        status = path.lstat()
    except OSError:
        return _Status(0, 0.0)
    return _Status(status.st_size, status.st_mtime)
