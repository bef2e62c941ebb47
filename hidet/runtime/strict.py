"""Launches of strict kernels: the seed of the thread order, and the accessible memory."""

import ctypes
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar

from hidet import option


class _Memory(ctypes.Structure):
    """Memory that a kernel may access, as hidet_cpu_thread.h reads it."""

    _fields_ = (("start", ctypes.c_uint64), ("bytes", ctypes.c_ulonglong))


_accessible: ContextVar[ctypes.Array[_Memory]] = ContextVar("hidet.accessible")


@contextmanager
def accessible(memory: Iterable[tuple[object, int]]) -> Generator[None]:
    """Declare the memory behind the pointer arguments of strict kernels in a `with` block.

    Accesses through other pointers are not checked.

    Args:
        memory: the address and the size in bytes of each argument; others are ignored.
    """
    known = [_Memory(start, size) for start, size in memory if size and isinstance(start, int)]
    token = _accessible.set((_Memory * len(known))(*known))
    try:
        yield
    finally:
        _accessible.reset(token)


class StrictLaunches:
    """Prepares the launches of a library, if it was compiled in strict mode.

    The seed is the option `strict_seed`, read at every launch.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        self._set: Callable[..., None] | None
        # void hidet_set_strict(seed, memory, count) applies to the next launch of the thread.
        make = ctypes.CFUNCTYPE(None, ctypes.c_ulonglong, ctypes.c_void_p, ctypes.c_uint)
        try:
            self._set = make(("hidet_set_strict", library))
        except (AttributeError, UnicodeDecodeError):  # it names the path, which may be no text
            self._set = None

    def prepare(self) -> None:
        """Prepare the next launch of this thread."""
        if self._set is None:
            return
        seed, memory = option.get_option("strict_seed"), _accessible.get(None)
        if memory is None:
            self._set(seed, None, 0)
        else:
            self._set(seed, ctypes.addressof(memory), len(memory))
