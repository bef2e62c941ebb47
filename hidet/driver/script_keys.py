"""Keys of the functions of scripts, by which dynamo tells them apart."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from hidet.driver.script import CompiledFunction

# The functions that are alive, by their keys.
_FUNCTIONS: WeakValueDictionary[str, CompiledFunction] = WeakValueDictionary()
_NUMBERS = count()


def key_of(function: CompiledFunction) -> str:
    """Return a new key for a function."""
    key = f"{function.name} {next(_NUMBERS)}"
    _FUNCTIONS[key] = function
    return key


def function_of(key: str) -> CompiledFunction:
    """Return the function of a key."""
    return _FUNCTIONS[key]
