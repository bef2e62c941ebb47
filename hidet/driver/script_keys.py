"""Keys of the functions of scripts, by which dynamo tells them apart."""

from collections.abc import Sequence
from itertools import count
from typing import Protocol
from weakref import WeakValueDictionary

from hidet.driver.script_arguments import Arguments


class Function(Protocol):
    """A function of a script, see `hidet.driver.script.CompiledFunction`."""

    name: str
    arguments: Arguments

    @property
    def content(self) -> str:
        """What it does, as text."""
        ...

    def run(self, arguments: Sequence[object]) -> int | float | None:
        """Run it on tensors with data."""
        ...


# The functions that are alive, by their keys.
_FUNCTIONS: WeakValueDictionary[str, Function] = WeakValueDictionary()
_NUMBERS = count()


def key_of(function: Function) -> str:
    """Return a new key for a function."""
    key = f"{function.name} {next(_NUMBERS)}"
    _FUNCTIONS[key] = function
    return key


def function_of(key: str) -> Function:
    """Return the function of a key."""
    return _FUNCTIONS[key]
