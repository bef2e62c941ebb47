"""Which kernel is being traced: how `threadIdx.x` and other names find the IR that they write."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from hidet.errors import ScriptError

if TYPE_CHECKING:
    from hidet.frontends.script.emitter import Emitter

_EMITTER: ContextVar[Emitter | None] = ContextVar("hidet_script_emitter", default=None)


@contextmanager
def tracing(emitter: Emitter) -> Generator[None]:
    """Make an emitter the current one for a while."""
    token = _EMITTER.set(emitter)
    try:
        yield
    finally:
        _EMITTER.reset(token)


def current(what: str) -> Emitter:
    """Return the emitter of the kernel that is being traced.

    Args:
        what: the name that needs it, for the message.

    Raises:
        ScriptError: no kernel is being traced.
    """
    emitter = _EMITTER.get()
    if emitter is None:
        raise ScriptError(
            f"'{what}' exists in a kernel only", hint="use it in a function under @hidet.script"
        )
    return emitter
