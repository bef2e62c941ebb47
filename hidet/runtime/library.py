"""Shared libraries of CPU kernels."""

import ctypes
import weakref
from _ctypes import dlclose
from pathlib import Path

from hidet.errors import HidetError
from hidet.forks import FORK_HANDLERS


class Library:
    """A shared library; it is unloaded when this object dies, so its kernels keep a reference.

    In a forked child process, the forking thread runs kernels on one core: its OpenMP workers do
    not exist there, and it would wait for them. New threads of the child get new workers.

    Attributes:
        native: the loaded library, which also resolves the functions of OpenMP.

    Raises:
        HidetError: it cannot be loaded.
    """

    def __init__(self, path: Path) -> None:
        try:
            self.native = ctypes.CDLL(str(path))
        except (OSError, UnicodeDecodeError) as error:  # a path may not be UTF-8
            raise HidetError(f"cannot load the kernels of {path}: {error}") from error
        unload = weakref.finalize(self, dlclose, self.native._handle)
        unload.atexit = False  # threads may still be at work in it
        FORK_HANDLERS.add(self)

    def after_fork(self) -> None:
        """Run on one core, without OpenMP workers."""
        self.native.omp_set_num_threads(1)
