"""What makes loading the modules of the compiler cheap: dialects, passes, the script language."""

from collections.abc import Generator
from contextlib import contextmanager

from hidet.collector_pause import collector_paused


@contextmanager
def loading() -> Generator[None]:
    """Import modules inside a `with` block: without the collector, formats of operations later."""
    with collector_paused(for_good=True):
        from hidet.deferred_formats import formats_deferred  # which loads xDSL

        with formats_deferred():
            yield
