"""Names of values in CUDA C++: what may be a name, and which one is still free.

Names live in the name hints of values. xDSL's parser takes `_<digits>` off the end of a name, so
names are made unique by a bare number: `acc1`, never `acc_1`.
"""

from __future__ import annotations

import re

_NOT_A_LETTER = re.compile(r"[^A-Za-z0-9_]+")
_UNDERSCORES = re.compile(r"__+")
_NUMBER_AT_END = re.compile(r"_?\d+$")
_IDENTIFIER = re.compile(r"(?!.*__)[A-Za-z][A-Za-z0-9_]*")

# Keywords of C++20 (ISO C++, [lex.key]) and the alternative operators ([lex.digraph]).
_KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
constinit continue decltype default delete do double dynamic_cast else enum explicit export extern
false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr
operator or or_eq private
protected public register reinterpret_cast requires return short signed sizeof static static_assert
static_cast struct switch template this thread_local throw true try typedef typeid typename union
unsigned using virtual void volatile wchar_t while xor xor_eq
"""

# Names that CUDA gives a meaning, and macros that the compilers define or their headers may.
_ENVIRONMENT = """
blockDim blockIdx clusterDim clusterIdx gridDim threadIdx warpSize hidet std main
EOF FILE I INFINITY NAN NULL assert errno linux major minor stderr stdin stdout unix
"""

RESERVED = frozenset((_KEYWORDS + _ENVIRONMENT).split())


def is_identifier(name: str) -> bool:
    """Return whether a name can be declared in CUDA C++."""
    return _IDENTIFIER.fullmatch(name) is not None and name not in RESERVED


def identifier_from(hint: str) -> str | None:
    """Return the identifier that is nearest to a name hint, or None if nothing is left of it."""
    name = _UNDERSCORES.sub("_", _NOT_A_LETTER.sub("_", hint))
    name = re.sub(r"_\d+$", "", name).lstrip("_0123456789")
    if not name:
        return None
    return f"{name}_" if name in RESERVED else name


class NameScopes:
    """The names that are visible at a place of a kernel, in nested scopes as C has them."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}
        # What each open scope has to undo when it ends: names, and the numbers before.
        self._undo: list[tuple[list[str], dict[str, int | None]]] = []
        self.enter()

    def enter(self) -> None:
        """Open a scope inside the present one."""
        self._undo.append(([], {}))

    def exit(self) -> None:
        """Close the present scope; its names are free again."""
        names, numbers = self._undo.pop()
        self._taken.difference_update(names)
        for stem, number in numbers.items():
            if number is None:
                del self._next[stem]
            else:
                self._next[stem] = number

    def claim(self, name: str) -> bool:
        """Take a name in the present scope; return whether it was free in all open scopes."""
        if name in self._taken:
            return False
        self._taken.add(name)
        self._undo[-1][0].append(name)
        return True

    def fresh(self, *wanted: str) -> str:
        """Take the first free one of the wanted names, else the last one with a number."""
        for name in wanted:
            if self.claim(name):
                return name
        stem = _NUMBER_AT_END.sub("", wanted[-1])
        numbers = self._undo[-1][1]
        numbers.setdefault(stem, self._next.get(stem))
        number = self._next.get(stem, 1)
        while not self.claim(f"{stem}{number}"):
            number += 1
        self._next[stem] = number + 1
        return f"{stem}{number}"
