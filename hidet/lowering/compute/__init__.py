"""Passes on the `compute` level: views, layouts and fusion."""
