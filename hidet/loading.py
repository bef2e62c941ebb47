"""Speeds up passes, and imports of the compiler: dialects, passes, the script language."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collector_paused(*, for_good: bool = False) -> Generator[None]:
    """Pause the garbage collector inside a `with` block.

    Passes and imports of dialects create many long-lived objects, which trigger full collections;
    each takes some tenths of a second if torch is loaded. Garbage, such as erased operations, is
    collected afterwards. If nearly all new objects are there `for_good`, such as modules, they are
    moved to the oldest generation.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if for_good and not gc.get_freeze_count():  # objects frozen by others stay frozen
                gc.freeze()
                gc.unfreeze()
            gc.enable()


@contextmanager
def loading() -> Generator[None]:
    """Import modules inside a `with` block, with garbage collection paused and formats deferred."""
    with collector_paused(for_good=True):
        from hidet.deferred_formats import formats_deferred  # which loads xDSL

        with formats_deferred():
            yield
