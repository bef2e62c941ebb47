"""Shared libraries of kernels for the CPU, which are loaded as long as somebody holds them."""

import ctypes
import weakref
from _ctypes import dlclose
from pathlib import Path

from hidet.errors import HidetError
from hidet.forks import FAMILY


class Library:
    """A shared library; it is unloaded with this object, which its kernels have to keep.

    In the child of a fork, the thread that has forked runs kernels on one core: the threads that
    OpenMP had given it are gone, and it would wait for them. Threads that begin there get new ones.

    Args:
        path: the file.

    Attributes:
        native: what finds its functions, and those of OpenMP, which it is linked with.

    Raises:
        HidetError: it cannot be loaded.
    """

    def __init__(self, path: Path) -> None:
        try:
            self.native = ctypes.CDLL(str(path))
        except (OSError, UnicodeDecodeError) as error:  # a path may be of any bytes
            raise HidetError(f"cannot load the kernels of {path}: {error}") from error
        unload = weakref.finalize(self, dlclose, self.native._handle)
        unload.atexit = False  # threads may still be at work in it
        FAMILY.add(self)

    def after_fork(self) -> None:
        """Do without the threads of OpenMP, which a child does not have."""
        self.native.omp_set_num_threads(1)
