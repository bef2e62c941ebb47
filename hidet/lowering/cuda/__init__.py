"""Passes on the `cuda` level, the last before the printer: towards C++ as people write it."""
