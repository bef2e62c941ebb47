"""Passes on host functions: memory planning and launches."""
