"""Temporary folders, which are removed even if the process that created them is killed.

The creator holds a lock of the folder, which the kernel releases when the process dies. So any
process may remove folders that are not locked.
"""

import fcntl
import os
import stat
import tempfile
import time
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "hidet-temporary-"

YOUNG_SECONDS = 60.0
"""Younger folders are not removed, as their lock may be about to be taken."""


@contextmanager
def temporary_folder() -> Generator[Path]:
    """Create a folder for a `with` block. What cannot be removed at its end is left to `sweep`.

    Raises:
        OSError: it cannot be created.
    """
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:  # too many open files
        folder.rmdir()
        raise
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        os.close(descriptor)  # first: removing the folder opens it
        discard(folder)


def sweep() -> None:
    """Remove the folders of killed processes of this user."""
    limit = time.time() - YOUNG_SECONDS
    with os.scandir(tempfile.gettempdir()) as found:
        candidates = [entry.path for entry in found if entry.name.startswith(PREFIX)]
    for path in candidates:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # gone, of another user, or not a folder
            continue
        try:
            status = os.fstat(descriptor)
            if status.st_uid == os.geteuid() and status.st_mtime < limit:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_tree(Path(path))
        except BlockingIOError:  # in use
            continue
        finally:
            os.close(descriptor)


def remove_tree(path: Path) -> None:
    """Remove a folder or a file, which other processes may be removing too.

    Subfolders are moved to the top before they are emptied, so that any depth is supported.

    Raises:
        OSError: a part of it cannot be removed.
    """
    try:
        mode = path.lstat().st_mode
        if not stat.S_ISDIR(mode):
            path.unlink()
            return
        waiting = [path]
        while waiting:
            folder = waiting.pop()
            folder.chmod(0o700)
            waiting += _empty(folder, path)
            if folder != path:
                folder.rmdir()
        path.rmdir()
    except FileNotFoundError:
        if path.exists():  # another process has removed one of its files
            remove_tree(path)


def discard(path: Path) -> None:
    """Remove a folder or a file; leave what cannot be removed to a later sweep."""
    try:
        remove_tree(path)
    except OSError:
        return


def _empty(folder: Path, top: Path) -> list[Path]:
    """Remove the files of a folder; return its subfolders, moved to `top`."""
    moved: list[Path] = []
    with os.scandir(folder) as found:
        entries = list(found)
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.path)
            continue
        if folder == top:
            moved.append(Path(entry.path))
            continue
        target = top / uuid.uuid4().hex
        os.rename(entry.path, target)
        moved.append(target)
    return moved
