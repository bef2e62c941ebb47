"""The error of all checks, with the op, its function and its source line."""

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from hidet.dialects.locations import located_near
from hidet.dialects.walking import parents_of
from hidet.errors import LegalityError


def illegal(op: Operation, what: str, hint: str | None = None) -> LegalityError:
    """Return the error about an illegal op."""
    return LegalityError(what, where=place_of(op), hint=hint)


def place_of(op: Operation) -> str:
    """Return the location of an op: its function or kernel, and its source line."""
    place = op.name
    names = (each.properties.get("sym_name") for each in (op, *parents_of(op)))
    symbol = next((name.data for name in names if isinstance(name, StringAttr)), None)
    if symbol is not None:
        place += f" in @{symbol}"
    line = located_near(op)
    return place if line is None else f"{place}, from {line}"
