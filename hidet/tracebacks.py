"""What a user sees of an error: his own frames and the message, not ours.

A mistake in a script is found deep inside of the compiler, whose frames say nothing to the user.
`public` marks the functions that he calls; an error of the catalogue that leaves one keeps only the
frames outside of this package. The option `full_traceback` keeps all. What is no mistake of the
user, an exception of the compiler itself, keeps all of them too.
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
    """Return where frames are ours: this package, xDSL, and modules of Python that call us back."""
    xdsl = importlib.util.find_spec("xdsl")
    files = [__file__, xdsl.origin if xdsl is not None else None]
    folders = (f"{Path(file).parent}/" for file in files if file is not None)
    return ast.__file__, contextlib.__file__, *folders


def public(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Make a function one that users call: errors of the catalogue leave it without our frames."""

    @functools.wraps(function)
    def edge(*arguments: _P.args, **keywords: _P.kwargs) -> _R:
        try:
            return function(*arguments, **keywords)
        except HidetError as error:
            if not get_option("full_traceback") and not _is_bug(error):
                shorten(error)
            raise  # which adds no frame

    return edge


def _is_bug(error: HidetError) -> bool:
    """Return whether an error wraps what went wrong in a pass, which is no mistake of the user."""
    cause = error.__cause__
    return isinstance(error, PassError) and not isinstance(cause, HidetError | None)


def shorten(error: BaseException) -> None:
    """Leave the user's frames to an error, and to what caused it; a cause without any goes."""
    error.__traceback__ = _users_frames(error.__traceback__)
    cause = error.__cause__
    while isinstance(cause, HidetError):  # the same, before its place in the source was known
        cause = cause.__cause__
    if cause is not None:
        shorten(cause)
    error.__cause__ = None if cause is None or cause.__traceback__ is None else cause
    error.__suppress_context__ = True


def _users_frames(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames that are ours."""
    if traceback is None:
        return None
    rest = _users_frames(traceback.tb_next)
    if traceback.tb_frame.f_code.co_filename.startswith(_own_folders()):
        return rest
    return TracebackType(rest, traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno)
