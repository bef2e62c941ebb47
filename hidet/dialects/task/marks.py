"""Attributes that passes leave on ops for later passes, and what they mean."""

RING = "task.ring"
"""On the allocation of a shared tile: `pipeline-copies` has ordered its accesses, by stage."""

ASYNC = "task.async"
"""On a loop over the elements of a copy: they may arrive as late as the next wait for copies."""
