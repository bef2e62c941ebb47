"""Python's garbage collector, kept out of the passes, and out of importing them."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collector_paused(*, for_good: bool = False) -> Generator[None]:
    """Collect no cycles inside a `with` block.

    Passes make many objects that live on, and so does loading dialects: the collector looks at the
    whole heap again and again, which takes some tenths of a second each time where torch is loaded.
    What it would find, erased operations, is found afterwards.

    Args:
        for_good: whether nearly all that is made lives on, as modules do. It counts as old then, so
            that the collector does not look at it afterwards either, until it looks at everything.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if for_good and not gc.get_freeze_count():  # what others have frozen stays so
                gc.freeze()
                gc.unfreeze()
            gc.enable()
