"""Shared libraries that are loaded from memory."""

import ctypes
import tempfile
from itertools import count
from typing import Any, TypeVar

from hidet.errors import HidetError

_CLOSE_ON_EXEC = 1  # MFD_CLOEXEC; not every build of Python has it, nor os.memfd_create

_numbers = count(1)

LibraryT = TypeVar("LibraryT", bound=ctypes.CDLL)


def load_library(binary: bytes, kind: type[LibraryT] = ctypes.CDLL) -> LibraryT:
    """Return a shared library, which is mapped from a copy that no other process can change.

    If it were mapped from a file of the cache, a process that truncates the file would kill this
    one (SIGBUS).

    Raises:
        HidetError: it cannot be loaded.
        OSError: there are no resources for the copy.
    """
    libc: Any = ctypes.CDLL(None)
    descriptor = libc.memfd_create(b"hidet", _CLOSE_ON_EXEC)
    # Some systems forbid executable memory files (sysctl vm.memfd_noexec).
    with open(descriptor, "wb") if descriptor >= 0 else tempfile.TemporaryFile() as file:
        file.write(binary)
        file.flush()
        # dlopen returns a loaded library if it has the same name, or the same inode, which stays in
        # use while it is mapped. Descriptors are reused, so each path is spelled in its own way,
        # with "/" and "/." as the digits of a number.
        digits = f"{next(_numbers):b}".replace("0", "/").replace("1", "/.")
        try:
            return kind(f"/proc/self/fd{digits}/{file.fileno()}")
        except OSError as error:
            raise HidetError(f"cannot load the kernels: {error}") from error
