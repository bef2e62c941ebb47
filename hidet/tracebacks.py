"""Removes internal frames from the tracebacks of user errors.

Errors in a script are detected deep inside the compiler. `public` marks API functions; a
`HidetError` that leaves one keeps only the frames outside of this package. The option
`full_traceback` keeps all. Exceptions that are bugs of the compiler keep all frames too.
"""

import ast
import contextlib
import functools
import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import ParamSpec, TypeVar

from hidet.errors import HidetError, PassError
from hidet.option import get_option

_P = ParamSpec("_P")
_R = TypeVar("_R")


@functools.cache
def _own_folders() -> tuple[str, ...]:
    """Return the paths of internal frames: this package, xDSL, Python modules that call back."""
    xdsl = importlib.util.find_spec("xdsl")
    files = [__file__, xdsl.origin if xdsl is not None else None]
    folders = (f"{Path(file).parent}/" for file in files if file is not None)
    return ast.__file__, contextlib.__file__, *folders


def public(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Mark a function as public API: errors of hidet leave it without internal frames."""

    @functools.wraps(function)
    def edge(*arguments: _P.args, **keywords: _P.kwargs) -> _R:
        try:
            return function(*arguments, **keywords)
        except HidetError as error:
            if not get_option("full_traceback") and not _is_bug(error):
                shorten(error)
            raise  # adds no frame

    return edge


def _is_bug(error: HidetError) -> bool:
    """Return whether an error wraps an exception of a pass, which is a bug."""
    cause = error.__cause__
    return isinstance(error, PassError) and not isinstance(cause, HidetError | None)


def shorten(error: BaseException) -> None:
    """Remove internal frames from an error and its causes; a cause without frames is dropped."""
    error.__traceback__ = _users_frames(error.__traceback__)
    cause = error.__cause__
    while isinstance(cause, HidetError):  # the same error, without its location
        cause = cause.__cause__
    if cause is not None:
        shorten(cause)
    error.__cause__ = None if cause is None or cause.__traceback__ is None else cause
    error.__suppress_context__ = True


def _users_frames(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback without internal frames."""
    if traceback is None:
        return None
    rest = _users_frames(traceback.tb_next)
    if traceback.tb_frame.f_code.co_filename.startswith(_own_folders()):
        return rest
    return TracebackType(rest, traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno)
