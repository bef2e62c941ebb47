"""Passes that decide which grids become one kernel."""
