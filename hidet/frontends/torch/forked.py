"""Fork handlers for dynamo: a process may fork while another thread runs a compiled function.

torch evaluates guards under a mutex and releases the GIL to acquire it, so a thread that has the
mutex may be waiting for the GIL, which the forking thread holds. In the child that mutex stays
locked, and the first call of the function hangs. So the child resets dynamo's code caches, mutexes
included, and recompiles what it calls. It also reinitializes the locks that a compiling thread
holds: dynamo's own and those of cached properties.

The caches are reset only if another thread is below a function that dynamo has wrapped, or compiles
(`hidet.compile`, too). It takes 30 us per compiled function, and the recompilation, which finds its
binaries in the cache.
"""

import gc
import os
import sys
import threading
from functools import cached_property
from types import FrameType

from torch import _dynamo as dynamo
from torch._dynamo import convert_frame, eval_frame
from tqdm import tqdm


class Forks:
    """Registers the fork handlers."""

    def __init__(self) -> None:
        self._endangered = False
        os.register_at_fork(before=self._before, after_in_child=self._after)

    def _before(self) -> None:
        """Inspect the frames of the other threads, which the child does not have."""
        own = threading.get_ident()
        frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage]
        self._endangered = any(
            _is_in_dynamo(frame) for thread, frame in frames.items() if thread != own
        )

    def _after(self) -> None:
        """Discard what a thread of the parent may have locked."""
        lock = convert_frame.compile_lock
        # What this thread itself is compiling must be there when it goes on.
        if lock._is_owned():  # pyright: ignore
            return
        if lock.acquire(blocking=False):
            lock.release()
            if not self._endangered:
                return
        else:
            lock._at_fork_reinit()  # pyright: ignore
            _renew_cached_properties()
        dynamo.reset_code_caches()
        # Child processes share the lock of tqdm, which torch takes for each graph: one that exits
        # while its monitor thread holds it would block all others.
        tqdm.set_lock(threading.RLock())


def _renew_cached_properties() -> None:
    """Reinitialize the locks of cached properties, which exist before Python 3.12.

    One child of 120 deadlocked on such a lock, in a property of a guard.
    """
    for found in gc.get_objects():
        # type(), as `__class__` may be overridden, or raise.
        if issubclass(type(found), cached_property) and "lock" in vars(found):
            vars(found)["lock"]._at_fork_reinit()


def _is_in_dynamo(frame: FrameType | None) -> bool:
    """Return whether a frame is below a function that dynamo has wrapped."""
    while frame is not None:
        if frame.f_code.co_filename == eval_frame.__file__:
            return True
        frame = frame.f_back
    return False
