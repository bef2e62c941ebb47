"""Checks the text of a program for errors on which xDSL's parser hangs or crashes."""

import re
import traceback

from xdsl.parser import Parser

# Skips strings, as xDSL's lexer defines them, comments and arrows.
_TOKEN = re.compile(
    r'"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"|//[^\n]*|->'
    r'|(?P<open>[(\[{<])|(?P<close>[)\]}>])|(?P<quote>")'
)


def broken_string(text: str) -> tuple[int, int] | None:
    """Return the line and the column of an invalid string, such as an open one, if there is any.

    xDSL's lexer takes exponential time for it.
    """
    for match in _TOKEN.finditer(text):
        if match["quote"]:
            return _place(text, match.start())
    return None


def deepest(text: str) -> tuple[int, int]:
    """Return the line and the column of the innermost bracket."""
    depth, most, position = 0, 0, 0
    for match in _TOKEN.finditer(text):
        if match["open"]:
            depth += 1
            if depth > most:
                most, position = depth, match.start()
        elif match["close"]:
            depth -= 1
    return _place(text, position)


def undecodable(data: bytes) -> tuple[int, int] | None:
    """Return the line and the column of the first byte that is not UTF-8, if there is one."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        return _place(before, len(before))
    return None


def refused_value(text: str, error: Exception) -> tuple[int, int]:
    """Return the line and the column after a value for which the parser raised an exception."""
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    parsers = [p for frame in frames if isinstance(p := frame.f_locals.get("self"), Parser)]
    return _place(text, parsers[-1].pos if parsers else 0)


def _place(text: str, position: int) -> tuple[int, int]:
    """Return the line and the column of a position, counted from 1."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
