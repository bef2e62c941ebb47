"""Python's garbage collector, kept out of the passes, and out of importing them."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Generator[None]:
    """Collect no cycles inside a `with` block.

    Passes make many objects that live on, and so does loading dialects: the collector looks at the
    whole heap again and again, which takes some tenths of a second each time where torch is loaded.
    What it would find, erased operations, is found afterwards.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
