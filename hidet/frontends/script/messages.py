"""How messages name the values of a script."""

from types import ModuleType

from hidet.escape import one_line, without_addresses

MAX_SHOWN = 100
"""So many letters of a value are shown in a message."""


class Value:
    """What a name of a script stands for while it is traced; its `repr` is its name in messages."""

    __slots__ = ()


def describe(value: object) -> str:
    """Name a value of a script for messages."""
    match value:
        case Value():
            return repr(value)
        case type():
            return f"the class {value.__qualname__}"
        case ModuleType():
            return f"the module {value.__name__}"
        case _ if callable(value) and hasattr(value, "__name__"):
            return f"the function {value.__name__}"
        case _:
            return f"the {type(value).__name__} {_shown(value)}"


def _shown(value: object) -> str:
    """Return a value as a short line."""
    text = one_line(" ".join(without_addresses(repr(value)).split()))
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 4]} ..."
