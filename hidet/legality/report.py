"""The error that all checks raise: it names the op, the function around it, and its source line."""

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from hidet.dialects.locations import located_near
from hidet.dialects.walking import parents_of
from hidet.errors import LegalityError


def illegal(op: Operation, what: str, hint: str | None = None) -> LegalityError:
    """Return the error about an op that must not be what or where it is."""
    return LegalityError(what, where=place_of(op), hint=hint)


def place_of(op: Operation) -> str:
    """Name an op, the function or kernel that it stands in, and the source line it came from."""
    place = op.name
    symbol = _symbol_around(op)
    if symbol is not None:
        place += f" in @{symbol}"
    line = located_near(op)
    return place if line is None else f"{place}, from {line}"


def _symbol_around(op: Operation) -> str | None:
    """Return the name of the function or kernel around an op, None where there is none."""
    names = (each.properties.get("sym_name") for each in (op, *parents_of(op)))
    return next((name.data for name in names if isinstance(name, StringAttr)), None)
