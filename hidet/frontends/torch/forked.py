"""What a child does that has been forked off while another thread was in a compiled function.

torch guards compiled code under a mutex, for which it lets Python's lock go: a thread that has the
mutex may be waiting for Python's lock, which the forking thread has. In the child nobody gives that
mutex back, and the first call of the function hangs. So the child throws dynamo's code away, with
the mutexes, and has what it calls compiled anew. The locks that a thread holds while it compiles,
dynamo's own and those of cached properties, are renewed.

Only children pay that would be in danger: where no other thread is below a function that dynamo has
wrapped, everything stays. It takes 30 us a compiled function, and what the child calls takes its
compilation, of which the binaries are in the cache.
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
    """The forks of this process, which are watched from the moment on that this is made."""

    def __init__(self) -> None:
        self._endangered = False
        os.register_at_fork(before=self._before, after_in_child=self._after)

    def _before(self) -> None:
        """Look at the other threads; in the child they have no frames any more."""
        own = threading.get_ident()
        frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage]
        self._endangered = any(
            _is_in_dynamo(frame) for thread, frame in frames.items() if thread != own
        )

    def _after(self) -> None:
        """Throw away what a thread that is gone may have locked."""
        lock = convert_frame.compile_lock
        # What this thread itself is compiling must be there when it goes on.
        if not self._endangered or lock._is_owned():  # pyright: ignore
            return
        if lock.acquire(blocking=False):
            lock.release()
        else:
            lock._at_fork_reinit()  # pyright: ignore
            _renew_cached_properties()
        dynamo.reset_code_caches()
        # Children share the lock of progress bars, which torch takes for each graph that it runs
        # through: one that ends while it has it, as its monitor may, would stop all the others.
        tqdm.set_lock(threading.RLock())


def _renew_cached_properties() -> None:
    """Renew the locks of cached properties: before Python 3.12 each has one, for all objects.

    One child of 120 waited for such a lock, in a property of the objects that guards are made of.
    """
    for found in gc.get_objects():
        # Asked of the type: an object may lie about its class, or fail to tell it.
        if issubclass(type(found), cached_property) and "lock" in vars(found):
            vars(found)["lock"]._at_fork_reinit()


def _is_in_dynamo(frame: FrameType | None) -> bool:
    """Tell whether a frame is below a function that dynamo has wrapped."""
    while frame is not None:
        if frame.f_code.co_filename == eval_frame.__file__:
            return True
        frame = frame.f_back
    return False
