"""Enumeration attributes."""

from types import new_class
from typing import Any, TypeVar, cast

from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.str_enum import StrEnum

Kind = TypeVar("Kind", bound=StrEnum)


def enum_attribute(name: str, kinds: type[Kind]) -> type[EnumAttribute[Kind]]:
    """Return the attribute of an enumeration, printed as a bare keyword."""
    words = ", ".join(f"`{kind.value}`" for kind in kinds)

    def fill(body: dict[str, Any]) -> None:
        body |= {"name": name, "__module__": kinds.__module__, "__doc__": f"One of {words}."}

    bases = EnumAttribute[kinds], SpacedOpaqueSyntaxAttribute
    made = new_class(f"{kinds.__name__}Attr", bases, exec_body=fill)
    return irdl_attr_definition(cast("type[EnumAttribute[Kind]]", made))
