"""Questions about memrefs that several checks ask."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, SSAValue

from hidet.dialects.cuda.attributes import Space, space_of


def buffer_type(value: SSAValue) -> MemRefType[Attribute] | None:
    """Return the type of a value that is a memref, None for any other value."""
    kind = value.type
    return cast("MemRefType[Attribute]", kind) if isinstance(kind, MemRefType) else None


def is_in(value: SSAValue, space: Space) -> bool:
    """Return whether a value is a memref in a memory space."""
    kind = buffer_type(value)
    return kind is not None and space_of(kind) is space
