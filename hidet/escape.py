"""Escapes user text in generated code: C++ literals, comments, IR, and names of files.

Names, paths, formats and messages are arbitrary Python strings, including lone surrogates and NUL.
All code generators use these functions, so that text cannot end the literal or comment around it.
"""

import re
import zlib

MAX_FILE_NAME = 100
"""The maximal length of file names made of user text, in bytes; file systems allow 255."""

_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_TRIGRAPH = re.compile(r"\?(?=\?)")


def one_line(text: str) -> str:
    """Return a text as one line, with unprintable characters escaped as in Python."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def without_addresses(text: str) -> str:
    """Return a text with memory addresses of Python objects removed."""
    return _ADDRESS.sub("", text)


def comment(text: str) -> str:
    """Return a text for a `//` comment, which does not continue on the next line."""
    line = one_line(text)
    return re.sub(r"(?:\\|\?\?/)\s*$", lambda end: repr(end[0]), line)


def c_string(text: str) -> str:
    """Return an ASCII C++ literal of a text in UTF-8."""
    shown: list[str] = []
    for byte in text.encode("utf-8", "backslashreplace"):
        match chr(byte):
            case '"' | "\\" as letter:
                shown.append(f"\\{letter}")
            case "\n":
                shown.append("\\n")
            case "\t":
                shown.append("\\t")
            case letter if " " <= letter <= "~":
                shown.append(letter)
            case _:
                shown.append(f"\\{byte:03o}")
    return f'"{_TRIGRAPH.sub(lambda _: "?" + chr(92), "".join(shown))}"'


def to_ascii(text: str) -> str:
    """Return a text in ASCII, for attributes of the IR, whose parser requires it; see `from_ascii`.

    ASCII text without escape sequences is unchanged.
    """
    plain = _ESCAPE.sub(lambda found: f"\\x5c{found[0][1:]}", text)
    return plain.encode("ascii", "backslashreplace").decode()


def from_ascii(text: str) -> str:
    """Return the original text of `to_ascii`."""
    return _ESCAPE.sub(lambda found: chr(int(found[1] or found[2] or found[3], 16)), text)


def file_name(text: str) -> str:
    """Return a file name that resembles a text: in ASCII, without separators."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", text).lstrip(".")
    if name and name == text and len(name) <= MAX_FILE_NAME:
        return name
    digest = zlib.crc32(text.encode("utf-8", "backslashreplace"))
    return f"{name[:MAX_FILE_NAME]}_{digest:08x}"
