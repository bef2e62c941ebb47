"""Keys of compiled script functions, which dynamo guards on."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from hidet.driver.script import CompiledFunction

_FUNCTIONS: WeakValueDictionary[str, CompiledFunction] = WeakValueDictionary()
_NUMBERS = count()


def key_of(function: CompiledFunction) -> str:
    """Return a new key of a function."""
    key = f"{function.name} {next(_NUMBERS)}"
    _FUNCTIONS[key] = function
    return key


def function_of(key: str) -> CompiledFunction:
    """Return the function with a key."""
    return _FUNCTIONS[key]
