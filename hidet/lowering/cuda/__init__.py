"""Passes on the `cuda` level, the last one before the printer."""
