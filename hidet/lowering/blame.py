"""Error reporting of passes: finds the op, and its source line, that a pass failed on."""

from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType

from xdsl.ir import Operation
from xdsl.passes import ModulePass

from hidet.dialects.locations import located_near
from hidet.errors import LegalityError, PassError


def failing_op(traceback: TracebackType | None) -> Operation | None:
    """Return the innermost op with a source location that a failed call was about.

    Patterns and rules take the op that they rewrite as an argument, which the frames of the
    traceback still hold. For an op without a location, ops around it are tried.
    """
    found: Operation | None = None
    while traceback is not None:
        for value in list(traceback.tb_frame.f_locals.values()):
            if isinstance(value, Operation) and located_near(value) is not None:
                found = value
        traceback = traceback.tb_next
    return found


@contextmanager
def blame(each: ModulePass) -> Generator[None]:
    """Turn any exception of a pass but `MemoryError` into a `PassError` with the source line."""
    try:
        yield
    except (PassError, LegalityError, MemoryError):
        raise
    except Exception as error:
        op = failing_op(error.__traceback__)
        raise PassError(
            str(error) or type(error).__name__,
            pass_name=each.name,
            where=None if op is None else located_near(op),
        ) from error
