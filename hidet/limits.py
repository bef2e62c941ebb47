"""Errors of the operating system that limits of the process or the machine cause."""

import errno
from collections.abc import Generator
from contextlib import contextmanager

from hidet.errors import ResourceError

_MEMORY = "free memory, or raise the limit of the process (ulimit -v)"
_THREADS = "end other threads or processes, or raise their limit (ulimit -u)"
_DISK = "free space for temporary files, or set TMPDIR and HIDET_CACHE_DIR to other folders"

HINTS = {
    errno.EAGAIN: _THREADS,
    errno.EDQUOT: _DISK,
    errno.EFBIG: "raise the limit of the size of files (ulimit -f)",
    errno.EMFILE: "close files, or raise the limit of the process (ulimit -n)",
    errno.ENFILE: "the limit of the whole machine is reached: close files of other processes",
    errno.ENOMEM: _MEMORY,
    errno.ENOSPC: _DISK,
}
"""What to do about a limit, by error number."""


def hint_of(error: OSError) -> str | None:
    """Return what to do about an error if a limit may be the reason."""
    # Python looks for a folder by writing to it, so a limit of files makes it find none.
    no_folder = isinstance(error, FileNotFoundError) and "temporary directory" in str(error)
    if no_folder:
        return f"{_DISK}; or raise a limit (ulimit -f, ulimit -n)"
    return HINTS.get(error.errno or 0)


@contextmanager
def resource_errors(what: str) -> Generator[None]:
    """Raise `ResourceError` if memory, files or threads run out in a `with` block or a function.

    The error says `what` fails then, such as "the program cannot be compiled".
    """
    try:
        yield
    except MemoryError as error:
        raise ResourceError(f"{what}: out of memory", hint=_MEMORY) from error
    except OSError as error:
        if (hint := hint_of(error)) is None:
            raise
        raise ResourceError(f"{what}: {error}", hint=hint) from error
    except RuntimeError as error:
        if "can't start new thread" not in str(error):
            raise
        raise ResourceError(f"{what}: {error}", hint=f"{_THREADS}, or that of memory") from error
