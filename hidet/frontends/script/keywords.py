"""The names that parameters of the language's functions have in the original Hidet."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping

ORIGINAL: dict[str, tuple[str, ...]] = {
    "N": ("allow_on_fly_groups",),
    "a": ("value",),
    "a_expr": ("a_desc",),
    "addr": ("address",),
    "dtype": ("kind", "name"),
    "expr": ("pointer",),
    "format_string": ("format",),
    "ptr": ("value", "pointer"),
    "tp": ("kind",),
    "v": ("value", "pointer"),
}
"""For a name of the original the names that such parameters have here."""


def named_as_here(
    function: Callable[..., object], keywords: Mapping[str, object]
) -> Mapping[str, object]:
    """Return the keywords of a call with the names that a function of the language has for them."""
    is_ours = str(getattr(function, "__module__", "")).startswith("hidet.")
    if not is_ours or ORIGINAL.keys().isdisjoint(keywords):
        return keywords
    known = inspect.signature(function).parameters
    named: dict[str, object] = {}
    for name, value in keywords.items():
        others = (other for other in ORIGINAL.get(name, ()) if other in known)
        named[name if name in known else next(others, name)] = value
    return named
