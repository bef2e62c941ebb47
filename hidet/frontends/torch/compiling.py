"""Compilation outside of dynamo: graphs whose shapes or flags are known only at a call."""

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import get_ident
from typing import Any, cast

import torch
from torch._dynamo.convert_frame import compile_lock

from hidet.frontends.torch.forked import Forks
from hidet.frontends.torch.nodes import fp32_precision

FORKS = Forks()
"""The fork handlers of this process, needed once anything is compiled."""

Boxed = Callable[[list[Any]], Sequence[Any]]
"""A function of the list of its arguments, as AOTAutograd calls it."""

# torch 2.11 has no such flag yet.
_session = cast(
    "Callable[[], AbstractContextManager[object]]",
    getattr(torch.compiler, "_compile_session_context", nullcontext),
)


@contextmanager
def compiling() -> Generator[None]:
    """Compile inside a `with` block, as dynamo does: one thread at a time.

    Tracing changes global state: it patches classes of torch, and sets flags. Dynamo therefore
    holds a lock, and tells compiled functions that other threads call, by another flag, that they
    are not being traced. Nor are they exported: else torch 2.13 annotates their calls in one
    dictionary (torch.fx.traceback), and of two at once, one does not find its entry again.
    """
    with compile_lock, _session():
        thread, is_exporting = get_ident(), torch.compiler.is_exporting
        torch.compiler.is_exporting = lambda: get_ident() == thread and is_exporting()
        try:
            yield
        finally:
            torch.compiler.is_exporting = is_exporting


def boxed(function: Boxed) -> Boxed:
    """Mark a function as taking one list, which torch then passes."""
    function._boxed_call = True  # pyright: ignore[reportFunctionMemberAccess]
    return function


class Programs(dict[Any, Callable[..., Any]]):
    """Programs by key, each compiled at its first use."""

    def at(self, key: object, compile_now: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
        """Return the program of a key."""
        if key not in self:
            with compiling():
                if key not in self:
                    self[key] = compile_now()
        return self[key]


def by_precision(program: Boxed, compile_now: Callable[[], Boxed]) -> Boxed:
    """Return a function that recompiles when torch's precision of convolutions changes.

    dynamo guards on the flag for matmuls, but not on `torch.backends.cudnn.conv.fp32_precision`
    (also set by `cudnn.allow_tf32`). `program` is compiled under the current flags, as
    `compile_now` compiles the graph.
    """
    programs = Programs({fp32_precision("conv"): program})
    return boxed(lambda arguments: programs.at(fp32_precision("conv"), compile_now)(arguments))
