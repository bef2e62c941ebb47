"""The folder of the cache on disk: who may use it, what is in it, and what leaves when it is full.

    <root>/                       mode 0700
        kernels/<kk>/<key>/       an entry; kk are the first two digits of the key
        programs/<kk>/<key>/
        temporary/                entries that are being written or removed
        locks/<kk>                held while an entry is being built

An entry appears and disappears by one rename between its place and `temporary`, so others see all
of it or nothing. Readers hold a shared lock of the root folder while they mark an entry as used;
whoever takes entries away holds it exclusively.
"""

import errno
import fcntl
import os
import shutil
import stat
import tempfile
import time
import uuid
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hidet.backend.cache.entry import DESCRIPTION, sync_folder
from hidet.errors import CacheError

NAMESPACES = ("kernels", "programs")

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
            if root.exists():
                self._check_owner()
        except PermissionError as error:
            raise CacheError(
                f"there is no access to the cache folder: {error}", where=str(root), hint=HINT
            ) from error

    def prepare(self) -> None:
        """Make the folders that are missing.

        Raises:
            CacheError: there is no permission to, or others can write to the folder.
            OSError: the file system is full or read-only.
        """
        try:
            self.root.parent.mkdir(parents=True, exist_ok=True)
            self.root.mkdir(mode=0o700, exist_ok=True)
            self._check_owner()
            for name in (*NAMESPACES, "temporary", "locks"):
                (self.root / name).mkdir(mode=0o700, exist_ok=True)
        except (PermissionError, FileExistsError, NotADirectoryError) as error:
            raise CacheError(
                f"the cache folder cannot be made: {error}", where=str(self.root), hint=HINT
            ) from error

    def _check_owner(self) -> None:
        """Refuse a folder in which others could plant code."""
        status = self.root.stat()
        if status.st_uid != os.geteuid():
            raise CacheError(
                f"the cache folder belongs to another user (uid {status.st_uid})",
                where=str(self.root),
                hint=HINT,
            )
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise CacheError(
                f"others can write to the cache folder (mode {stat.S_IMODE(status.st_mode):o})",
                where=str(self.root),
                hint=f"run: chmod go-w '{self.root}'",
            )

    def place(self, namespace: str, key: str) -> Path:
        """Give the folder of an entry, which need not exist."""
        return self.root / namespace / key[:2] / key

    def new_temporary(self) -> Path:
        """Make a folder that nobody else looks at."""
        return Path(tempfile.mkdtemp(dir=self.root / "temporary"))

    def publish(self, temporary: Path, place: Path) -> bool:
        """Move a complete entry to its place; false if there is one already."""
        place.parent.mkdir(mode=0o700, exist_ok=True)
        try:
            temporary.rename(place)
        except OSError:
            if not place.exists():
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
        except FileNotFoundError:
            return False  # somebody else has removed it
        remove_tree(grave)
        return True

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
        for place in (self.root / namespace).glob("??/*"):
            try:
                size = sum(file.stat().st_size for file in place.iterdir())
            except FileNotFoundError:
                continue
            yield EntryInfo(namespace, place.name, place, size, last_use(place))

    def remove_leftovers(self) -> None:
        """Remove what processes that died left in `temporary`."""
        limit = time.time() - LEFTOVER_SECONDS
        for path in (self.root / "temporary").iterdir():
            if _modified(path) < limit:
                remove_tree(path)


def last_use(place: Path) -> float:
    """Tell when an entry was last used; 0 if it has no description, or is gone."""
    return _modified(place / DESCRIPTION)


def mark_used(place: Path) -> None:
    """Note that an entry is used now.

    Raises:
        FileNotFoundError: there is no such entry.
    """
    try:
        os.utime(place / DESCRIPTION)
    except OSError as error:
        # What cannot be written is not evicted either, but can be read.
        if error.errno != errno.EROFS:
            raise


def remove_tree(path: Path) -> None:
    """Remove a folder; others may remove it at the same time."""
    while path.exists():
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            continue  # the others were faster at one of its files: look again


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
