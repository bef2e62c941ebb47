"""Text of users in generated text: nothing of it ends the literal or the comment it stands in."""

import random
import re

import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.parser import Parser

from hidet.context import make_context
from hidet.escape import c_string, comment, file_name, from_ascii, one_line, to_ascii

PIECES = [
    *"aZ09 \"'\\/*?%$`;{}#\n\r\t\0\x1b\x7f",
    *("é", "名", "😀", "\u2028", "\u202e", "\ud800", "\udcff"),
    *("*/", "//", "??/", "\\\n", "x41", "u0041", "U0001f600", "\\x41", "loc(", "%n", "../"),
]


def texts(count=3000):
    """Give random texts of pieces that mean something somewhere."""
    for _ in range(count):
        yield "".join(random.choices(PIECES, k=random.randint(0, 8)))


def unescaped(literal):
    """Read a literal of C++ as its bytes; no part of it may be longer than what is known here."""
    inside = literal[1:-1]
    part = re.compile(r'\\([0-7]{3})|\\(["\\nt?])|([^"\\\x00-\x1f\x7f-\U0010ffff])')
    read, end = [], 0
    while end < len(inside):
        match = part.match(inside, end)
        assert match, literal
        octal, letter, plain = match.groups()
        letters = {"n": "\n", "t": "\t"}
        read.append(int(octal, 8) if octal else ord(letters.get(letter, letter) or plain))
        end = match.end()
    return bytes(read)


def test_literals():
    """A literal of C++ has the bytes of the text, and no trigraph."""
    for text in texts():
        literal = c_string(text)
        assert unescaped(literal) == text.encode("utf-8", "backslashreplace")
        assert "??" not in literal


def test_comments():
    """A comment is one line, which the next one does not continue."""
    for text in texts():
        line = comment(text)
        assert line.isprintable()
        assert not line.rstrip().endswith(("\\", "??/"))
        assert one_line(text).isprintable()
    assert comment("in a/b.py:3") == one_line("in a/b.py:3") == "in a/b.py:3"


def test_attributes():
    """An attribute of IR reads back as it was, and so does the text in it."""
    for text in texts(500):
        ascii_text = to_ascii(text)
        assert from_ascii(ascii_text) == text
        attribute = StringAttr(ascii_text)
        assert Parser(make_context(), str(attribute)).parse_attribute() == attribute


def test_names_of_files():
    """A file has a name of its own for each text, in its folder."""
    found = {}
    for text in {*texts(), "a" * 300, "a" * 301, "..", ".", "kernel"}:
        name = file_name(text)
        assert re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*", name), text
        assert len(name) < 120
        assert found.setdefault(name, text) == text
    assert file_name("kernel") == "kernel"


@pytest.mark.parametrize(
    ("text", "literal"), [('say "hi"\n', r'"say \"hi\"\n"'), ("é??/", r'"\303\251?\?/"')]
)
def test_examples(text, literal):
    """What a reader sees."""
    assert c_string(text) == literal
