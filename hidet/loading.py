"""Speeds up imports of the compiler: dialects, passes, the script language."""

from collections.abc import Generator
from contextlib import contextmanager

from hidet.collector_pause import collector_paused


@contextmanager
def loading() -> Generator[None]:
    """Import modules inside a `with` block, with garbage collection paused and formats deferred."""
    with collector_paused(for_good=True):
        from hidet.deferred_formats import formats_deferred  # which loads xDSL

        with formats_deferred():
            yield
