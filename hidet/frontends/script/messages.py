"""How error messages name the values of a script."""

from types import ModuleType

from hidet.escape import one_line, without_addresses

MAX_SHOWN = 100
"""The longest repr in a message, in characters."""


class Value:
    """A value of a traced script; its `repr` names it in messages."""

    __slots__ = ()


def describe(value: object) -> str:
    """Return the name of a value in messages."""
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
            text = one_line(" ".join(without_addresses(repr(value)).split()))
            shown = text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 4]} ..."
            return f"the {type(value).__name__} {shown}"
