"""What a process does that has been forked off while other threads were at work.

The child has one thread, and a copy of all memory. What the other threads were doing stays half
done: a lock that one of them held is held for ever, and the threads of OpenMP, which the forking
thread would hand work to, are gone. So locks come from here, and whoever has something else to put
right says so here.

This makes calls of a compiled graph and of scripts safe. What torch locks around compiled functions
is the business of `hidet.frontends.torch.forked`.
"""

import os
from threading import Lock
from typing import Protocol
from weakref import WeakSet


class Forked(Protocol):
    """Something that has to be put right in a child."""

    def after_fork(self) -> None:
        """Put it right; the thread that runs this is the only one."""
        ...


class Family:
    """What is put right in every child of this process, as long as it lives."""

    def __init__(self) -> None:
        self._locks: WeakSet[Lock] = WeakSet()
        self._others: WeakSet[Forked] = WeakSet()
        os.register_at_fork(after_in_child=self._after_fork)

    def lock(self) -> Lock:
        """Give a new lock, which nobody holds in a child."""
        lock = Lock()
        self._locks.add(lock)
        return lock

    def add(self, other: Forked) -> None:
        """Have `other.after_fork()` called in a child."""
        self._others.add(other)

    def _after_fork(self) -> None:
        for lock in self._locks:
            # What Python's own modules renew their locks by.
            lock._at_fork_reinit()  # pyright: ignore[reportAttributeAccessIssue]
        for other in self._others:
            other.after_fork()


FAMILY = Family()
"""That of this process."""
