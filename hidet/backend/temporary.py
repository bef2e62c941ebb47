"""Temporary folders, which do not outlive the processes that made them for long.

Who makes one holds a lock of it, which the system ends with the process, however that ends. So a
folder without a lock was left by a process that has been killed, and anybody may remove it.
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
"""How the names of the folders begin."""

YOUNG_SECONDS = 60.0
"""A folder of this age is left alone: its lock may be about to be taken."""


def make_folder() -> tuple[Path, int]:
    """Make a folder; return it with a descriptor that holds its lock until it is closed.

    Raises:
        OSError: there is no room for it.
    """
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return folder, descriptor


@contextmanager
def temporary_folder() -> Generator[Path]:
    """Return a folder that is there inside of a `with` block.

    Raises:
        OSError: there is no room for it.
    """
    folder, descriptor = make_folder()
    try:
        yield folder
    finally:
        remove_tree(folder)
        os.close(descriptor)


def sweep() -> None:
    """Remove the folders that processes of this user left when they were killed."""
    limit = time.time() - YOUNG_SECONDS
    with os.scandir(tempfile.gettempdir()) as found:
        candidates = [entry.path for entry in found if entry.name.startswith(PREFIX)]
    for path in candidates:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # gone, of another user, or no folder
            continue
        try:
            status = os.fstat(descriptor)
            if status.st_uid == os.geteuid() and status.st_mtime < limit:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_tree(Path(path))
        except BlockingIOError:  # somebody is at work in it
            continue
        finally:
            os.close(descriptor)


def remove_tree(path: Path) -> None:
    """Remove a folder, or whatever is there; others may remove it at the same time.

    Folders in it are moved to its top before they are emptied, so that it may be of any depth.

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
        if path.exists():  # the others were faster at one of its files: look again
            remove_tree(path)


def _empty(folder: Path, top: Path) -> list[Path]:
    """Remove the files of a folder; return its folders, which are in `top` afterwards."""
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
