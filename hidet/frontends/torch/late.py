"""Compiling outside of dynamo: graphs whose shapes or flags are known only when they are called."""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import cast

import torch
from torch._dynamo.convert_frame import compile_lock

# torch 2.11 has no such flag yet.
_session = cast(
    "Callable[[], AbstractContextManager[object]]",
    getattr(torch.compiler, "_compile_session_context", nullcontext),
)


@contextmanager
def compiling() -> Generator[None]:
    """Compile inside of a `with` block, as dynamo does: one thread at a time.

    Tracing changes what all threads see: classes of torch are patched, and a flag says that it goes
    on. So dynamo holds a lock, and tells compiled functions that are called meanwhile, by another
    flag, that they are not what is being traced.
    """
    with compile_lock, _session():
        yield
