"""The folder of the cache: layout, permissions, locking, and removal of entries.

    <root>/                       mode 0700
        kernels/<kk>/<key>/       an entry; kk are the first two digits of the key
        programs/<kk>/<key>/
        winners/<kk>/<key>/
        traces/<kk>/<key>/
        temporary/                entries that are being written or removed
        locks/<kk>                held while an entry is being built

Entries are created and removed atomically, by a rename from or to `temporary`. Readers hold a
shared lock of the root folder while they mark an entry as used; removing entries takes it
exclusively.

The folder may contain anything: files, links or FIFOs instead of folders, or files of other users.
These are removed in place of an entry or a lock, and rejected in place of a parent folder.
"""

import errno
import fcntl
import os
import secrets
import stat
import tempfile
import time
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from hidet.backend.cache.entry import DESCRIPTION, DamagedEntryError, sync_folder, write_file
from hidet.backend.temporary import discard
from hidet.errors import CacheError

NAMESPACES = ("kernels", "programs", "winners", "traces")

GRACE_SECONDS = 600.0
"""Entries used more recently are not evicted, as a process may be about to open their files."""

LEFTOVER_SECONDS = 3600.0
"""Older temporary folders belong to dead processes."""

HINT = "choose another folder: set HIDET_CACHE_DIR, or the option cache_dir"


@dataclass(frozen=True)
class EntryInfo:
    """An entry in a listing; `bytes` is its size, `last_used` in seconds since the epoch."""

    namespace: str
    key: str
    path: Path
    bytes: int
    last_used: float


class CacheFolder:
    """The folder of a cache, which is created at its first use.

    Raises:
        CacheError: it exists, and other users can write to it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        try:
            self._check(root.stat(), root)
        except OSError:
            return  # it does not exist, or `prepare` reports the problem

    def prepare(self) -> None:
        """Create missing folders.

        Raises:
            CacheError: something else has their path, or other users can write to one of them.
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
        """Raise `CacheError` if other users can write to a folder."""
        what = "the cache folder" if path == self.root else f"'{path.name}' in the cache folder"
        problem, hint = None, HINT
        if not stat.S_ISDIR(status.st_mode):
            problem = f"{what} cannot be made: it is not a folder"
        elif status.st_uid != os.geteuid():
            problem = f"{what} belongs to another user (uid {status.st_uid})"
        elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            problem = f"others can write to {what} (mode {stat.S_IMODE(status.st_mode):o})"
            hint = f"run: chmod go-w '{path}'"
        if problem is not None:
            raise CacheError(problem, where=str(path), hint=hint)

    def check_way(self, place: Path) -> None:
        """Check the folder of an entry, and its parents.

        Raises:
            CacheError: one belongs to another user, or other users can write to it.
            DamagedEntryError: the entry, or its parent, is not a folder.
            OSError: there is no entry, or no access.
        """
        self._check(self.root.stat(), self.root)
        self._check(place.parents[1].lstat(), place.parents[1])
        for path in (place.parent, place):
            status = path.lstat()
            if not stat.S_ISDIR(status.st_mode):
                raise DamagedEntryError(f"{path} is not a folder")
            self._check(status, path)

    def place(self, namespace: str, key: str) -> Path:
        """Return the path of an entry, which may not exist."""
        return self.root / namespace / key[:2] / key

    def new_temporary(self) -> Path:
        """Create a private folder."""
        return Path(tempfile.mkdtemp(dir=self.root / "temporary"))

    def publish(self, temporary: Path, place: Path) -> bool:
        """Move a complete entry to its path; return False if there is one already."""
        try:
            place.parent.mkdir(mode=0o700, exist_ok=True)
        except FileExistsError:
            return False  # not a folder; reading an entry in it removes it
        try:
            temporary.rename(place)
        except OSError:
            if not os.path.lexists(place):
                raise
            return False
        sync_folder(place.parent)
        return True

    def take_away(self, place: Path, *, unless_used_since: float | None = None) -> bool:
        """Remove an entry, and return whether it existed. The caller holds the exclusive lock.

        It is kept if it was used since a time, in seconds since the epoch.
        """
        if unless_used_since is not None and last_use(place) > unless_used_since:
            return False
        grave = self.root / "temporary" / uuid.uuid4().hex
        try:
            place.rename(grave)
        except (FileNotFoundError, NotADirectoryError):
            return False  # another process has removed it
        discard(grave)
        return True

    def lock_file(self, name: str) -> Path:
        """Return the path of a lock, after removing anything but a regular file there.

        Raises:
            OSError: that fails.
        """
        path = self.root / "locks" / name
        if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
            self.take_away(path)
        return path

    @contextmanager
    def lock(self, *, exclusive: bool) -> Generator[None]:
        """Hold the lock of the existing folder; the kernel releases it if the process dies."""
        descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
            yield
        finally:
            # Closing is not enough: a forked child process shares the descriptor, and the lock.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def entries(self) -> list[EntryInfo]:
        """List all entries, the least recently used first."""
        found: list[EntryInfo] = []
        for namespace in NAMESPACES:
            for place in chain.from_iterable(map(_list, _list(self.root / namespace))):
                size = sum(_status(file).st_size for file in _list(place))
                if os.path.lexists(place):  # it has not been removed meanwhile
                    found.append(EntryInfo(namespace, place.name, place, size, last_use(place)))
        return sorted(found, key=lambda info: (info.last_used, info.key))

    def remove_leftovers(self) -> None:
        """Remove what dead processes left in `temporary`."""
        limit = time.time() - LEFTOVER_SECONDS
        for path in _list(self.root / "temporary"):
            if _status(path).st_mtime < limit:
                discard(path)


def last_use(place: Path) -> float:
    """Return when an entry was last used; 0 if it has no description, or is gone."""
    return _status(place / DESCRIPTION).st_mtime


def mark_used(place: Path) -> None:
    """Record that an entry is used now.

    Raises:
        FileNotFoundError: there is no such entry.
    """
    try:
        os.utime(place / DESCRIPTION)
    except FileNotFoundError:
        raise
    except OSError:
        return  # read-only entries are readable, and never evicted


def _list(folder: Path) -> list[Path]:
    """List a folder; nothing if it is not an accessible folder."""
    try:
        if folder.is_symlink():
            return []
        return list(folder.iterdir())
    except OSError:
        return []


def _status(path: Path) -> os.stat_result:
    """Return the status of a file, without following links; zeros if it is inaccessible."""
    try:
        return path.lstat()
    except OSError:
        return os.stat_result([0] * 10)


_BYTES = 32


def sealing_key(folder: CacheFolder) -> bytes:
    """Return the key of a cache, which is created at the first call.

    Reading it allows making this user execute code, as does writing to the cache.

    Raises:
        CacheError: the folder cannot be used, or other users can read the key.
    """
    path = folder.root / "sealing-key"
    try:
        folder.prepare()
        if not path.exists():
            _make(path)
        status = path.stat(follow_symlinks=False)
        key = path.read_bytes()
    except OSError as error:
        raise CacheError(f"the key of the cache cannot be read: {error}") from error
    private = status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) & 0o077 == 0
    if not private or not stat.S_ISREG(status.st_mode) or len(key) != _BYTES:
        what = "the key of the cache is invalid, or accessible to other users"
        raise CacheError(what, where=str(path), hint=f"run: rm '{path}'")
    return key


def _make(path: Path) -> None:
    """Write a new key, unless another process does so first."""
    temporary = path.with_name(f"{path.name}-{secrets.token_hex(8)}")
    write_file(temporary, secrets.token_bytes(_BYTES))
    try:
        os.link(temporary, path)
    except FileExistsError:
        return  # another process was first
    finally:
        temporary.unlink()
