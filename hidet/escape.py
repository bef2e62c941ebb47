"""Text of users in what is generated: in C++, in comments, in IR, in the names of files.

Names, paths, formats and messages may hold anything that Python's strings can, lone surrogates and
NUL included. Whatever writes them into a text of another language does so by a function of this
file; nothing of them can end the literal or the comment that it stands in.
"""

import re
import zlib

MAX_FILE_NAME = 100
"""Bytes of a name of a file that is made of a user's text; file systems allow 255."""

_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_TRIGRAPH = re.compile(r"\?(?=\?)")


def one_line(text: str) -> str:
    """Return a text as one line, in which what cannot be printed is escaped as Python has it."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def without_addresses(text: str) -> str:
    """Return a text in which objects of Python stand without their addresses in memory."""
    return _ADDRESS.sub("", text)


def comment(text: str) -> str:
    """Return a text for the end of a line behind `//`; it cannot go on in the next one."""
    line = one_line(text)
    return re.sub(r"(?:\\|\?\?/)\s*$", lambda end: repr(end[0]), line)


def c_string(text: str) -> str:
    """Return a literal of C++ with the bytes of a text in UTF-8, and no letter beyond ASCII."""
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
    """Return a text in ASCII, for attributes of IR, whose parser knows no other; see `from_ascii`.

    It is the text itself where that is ASCII, and holds nothing that looks like an escape.
    """
    plain = _ESCAPE.sub(lambda found: f"\\x5c{found[0][1:]}", text)
    return plain.encode("ascii", "backslashreplace").decode()


def from_ascii(text: str) -> str:
    """Return the text that `to_ascii` was given."""
    return _ESCAPE.sub(lambda found: chr(int(found[1] or found[2] or found[3], 16)), text)


def file_name(text: str) -> str:
    """Return a name of a file or folder that is nearest to a text: in ASCII, without separators."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", text).lstrip(".")
    if name and name == text and len(name) <= MAX_FILE_NAME:
        return name
    digest = zlib.crc32(text.encode("utf-8", "backslashreplace"))
    return f"{name[:MAX_FILE_NAME]}_{digest:08x}"
