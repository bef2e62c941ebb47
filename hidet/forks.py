"""Fork safety: handlers that run in a child process forked while other threads were running.

The child has one thread, and a copy of all memory: a lock that another thread held is never
released, and the OpenMP workers of the forking thread do not exist. So locks are created here, and
other objects register a handler.

This makes calls of compiled graphs and of scripts safe. `hidet.frontends.torch.forked` deals with
torch's locks.
"""

import os
from threading import Lock
from typing import Protocol
from weakref import WeakSet


class Forked(Protocol):
    """An object with a fork handler."""

    def after_fork(self) -> None:
        """Repair the object in a child process, in its only thread."""
        ...


class ForkHandlers:
    """Locks and objects to be repaired in forked child processes, while they live."""

    def __init__(self) -> None:
        self._locks: WeakSet[Lock] = WeakSet()
        self._others: WeakSet[Forked] = WeakSet()
        os.register_at_fork(after_in_child=self._after_fork)

    def lock(self) -> Lock:
        """Create a lock that is released in child processes."""
        lock = Lock()
        self._locks.add(lock)
        return lock

    def add(self, other: Forked) -> None:
        """Call `other.after_fork()` in child processes."""
        self._others.add(other)

    def _after_fork(self) -> None:
        for lock in self._locks:
            # As Python's own modules do.
            lock._at_fork_reinit()  # pyright: ignore[reportAttributeAccessIssue]
        for other in self._others:
            other.after_fork()


FORK_HANDLERS = ForkHandlers()
"""The handlers of this process."""
