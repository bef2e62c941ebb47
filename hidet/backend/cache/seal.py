"""The key that seals files written by this user's processes."""

import os
import secrets
import stat
from pathlib import Path

from hidet.backend.cache.folder import CacheFolder
from hidet.errors import CacheError

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
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_bytes(_BYTES))
    try:
        os.link(temporary, path)
    except FileExistsError:
        return  # another process was first
    finally:
        temporary.unlink()
