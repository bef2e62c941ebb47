"""Passes on the `task` level: from block-level schedules to per-thread code."""
