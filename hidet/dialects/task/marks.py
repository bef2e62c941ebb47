"""Attributes of ops for later passes."""

RING = "task.ring"
"""On a shared allocation: its accesses are already synchronized, per stage of a ring."""

ASYNC = "task.async"
"""On the loop of an asynchronous copy, which may complete at the next wait."""
