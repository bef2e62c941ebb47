"""Names in CUDA C++: validity, mangling, and scopes.

Names of values are their name hints. xDSL's parser strips `_<digits>` from the end of a name, so
names are made unique by a bare number: `acc1`, never `acc_1`. A kernel keeps the name given by the
user, any Python identifier; its C++ name is `symbol_of` that.
"""

import re
import unicodedata
import zlib
from collections import ChainMap
from collections.abc import Generator
from contextlib import contextmanager

from hidet.dialects.cuda.foreign_names import is_declared, is_macro

_SEPARATOR = re.compile(r"[^A-Za-z0-9]+")
_NUMBER_AT_END = re.compile(r"_?\d+$")
_IDENTIFIER = re.compile(r"(?!.*__)[A-Za-z][A-Za-z0-9_]*")

# Keywords of C++20 (ISO C++, [lex.key]) and the alternative operators ([lex.digraph]).
_KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
constinit continue decltype default delete do double dynamic_cast else enum explicit export extern
false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr
operator or or_eq private protected public register reinterpret_cast requires return short signed
sizeof static static_assert static_cast struct switch template this thread_local throw true try
typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
"""

# Names with a meaning in CUDA or in the printed text, and common macros.
_ENVIRONMENT = """
blockDim blockIdx clusterDim clusterIdx gridDim threadIdx warpSize hidet std main
EOF FILE I INFINITY NAN NULL assert errno linux major minor printf stderr stdin stdout typeof unix
"""

RESERVED = frozenset((_KEYWORDS + _ENVIRONMENT).split())

MAX_SYMBOL = 200
"""Longer kernel names are truncated in C++."""


def is_identifier(name: str) -> bool:
    """Return whether a value can have a name in CUDA C++."""
    return _IDENTIFIER.fullmatch(name) is not None and not _is_reserved(name)


def _is_reserved(name: str) -> bool:
    return name in RESERVED or is_macro(name)


def spelled(name: str) -> str:
    """Return a name in ASCII: `größe` as `groesse`, `λ` as `lamda`, `名` as `u540d`."""
    if name.isascii():
        return name
    parts = unicodedata.normalize("NFKD", name.translate(_GERMAN))
    return "".join(map(_letter, parts))


_GERMAN = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"}
)


def _letter(letter: str) -> str:
    """Return a letter in ASCII: its Greek name, or its code point; accents are dropped."""
    if letter.isascii():
        return letter
    if unicodedata.combining(letter):
        return ""
    words = unicodedata.name(letter, "").split()
    if len(words) == 4 and words[0] == "GREEK":
        return words[3].lower() if words[1] == "SMALL" else words[3].capitalize()
    return f"u{ord(letter):x}"


def hint_of(name: str) -> str | None:
    """Return the name hint of a user's name, None if nothing is left of it."""
    return _SEPARATOR.sub("_", spelled(name)).lstrip("_0123456789") or None


def identifier_from(hint: str) -> str | None:
    """Return the closest identifier to a name hint, None if nothing is left of it."""
    name = re.sub(r"_\d+$", "", hint_of(hint) or "")
    if not name:
        return None
    nearest = (name, f"{name}_", f"v_{name}")
    # Neither the name nor its first variant in `NameScopes` is reserved.
    variants = ((each, f"{_NUMBER_AT_END.sub('', each).rstrip('_')}1") for each in nearest)
    return next(each[0] for each in variants if not any(map(_is_reserved, each)))


def symbol_of(name: str) -> str:
    """Return the C++ symbol of a kernel.

    It is the kernel's name, unless C++ does not allow it or headers may declare it: then the
    closest identifier with a hash, so that symbols are unique.
    """
    # That of a launch in g++ builds ends in `_launch`.
    is_taken = is_declared(name) or name.endswith("_launch")
    if is_identifier(name) and not is_taken and len(name) <= MAX_SYMBOL:
        return name
    stem = (identifier_from(name) or "kernel")[:MAX_SYMBOL].rstrip("_")
    return f"{stem}_{zlib.crc32(name.encode()):08x}"


class NameScopes:
    """The names visible at a position in a kernel, in nested C scopes."""

    def __init__(self) -> None:
        # Of all open scopes: the names, and the next number after a stem.
        self._taken = ChainMap[str, None]()
        self._next = ChainMap[str, int]()

    @contextmanager
    def scope(self) -> Generator[None]:
        """Open a scope, which releases its names at the end."""
        outside = self._taken, self._next
        self._taken, self._next = self._taken.new_child(), self._next.new_child()
        yield
        self._taken, self._next = outside

    def claim(self, name: str) -> bool:
        """Take a name in the innermost scope; return whether it was free."""
        if name in self._taken:
            return False
        self._taken[name] = None
        return True

    def fresh(self, *wanted: str) -> str:
        """Take the first free one of some names, or the last one with a number."""
        for name in wanted:
            if self.claim(name):
                return name
        stem = _NUMBER_AT_END.sub("", wanted[-1]).rstrip("_")  # `new_` becomes `new1`
        number = self._next.get(stem, 1)
        while not self.claim(f"{stem}{number}"):
            number += 1
        self._next[stem] = number + 1
        return f"{stem}{number}"
