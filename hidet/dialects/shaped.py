"""Typed access to tensor and memref types."""

from functools import cache
from math import prod
from typing import Any, TypeAlias

from xdsl.dialects.builtin import (
    AnyFloat,
    FixedBitwidthType,
    IndexType,
    MemRefLayoutAttr,
    MemRefType,
    NoneAttr,
    TensorType,
)
from xdsl.ir import Attribute, SSAValue

_PLAIN = NoneAttr()

Shaped: TypeAlias = TensorType[Attribute] | MemRefType[Attribute]
"""A view (tensor) or a buffer (memref)."""


def is_memref(kind: Attribute) -> bool:
    """Return whether a type is a memref."""
    return type(kind) is MemRefType


def shaped_type(of: SSAValue | Attribute) -> Shaped:
    """Return the type of a tensor or a memref."""
    kind: Any = getattr(of, "type", of)
    if type(kind) not in (TensorType, MemRefType):
        raise TypeError(f"{kind} is neither a tensor nor a memref")
    return kind


def memref_type(of: SSAValue | Attribute) -> MemRefType[Attribute]:
    """Return the type of a memref."""
    kind: Any = getattr(of, "type", of)
    if type(kind) is not MemRefType:
        raise TypeError(f"{kind} is no memref")
    return kind


def optional_memref_type(value: SSAValue) -> MemRefType[Attribute] | None:
    """Return the type of a memref, None for other values."""
    return memref_type(value) if is_memref(value.type) else None


def shape_of(of: SSAValue | Attribute) -> tuple[int, ...]:
    """Return the extents of a tensor or a memref."""
    return shaped_type(of).get_shape()


@cache
def memref_of(
    element: Attribute,
    shape: tuple[int, ...],
    layout: MemRefLayoutAttr | NoneAttr = _PLAIN,
    space: Attribute = _PLAIN,
) -> MemRefType[Attribute]:
    """Return a type of memrefs; the same ones are needed again and again."""
    return MemRefType(element, shape, layout, space)


def buffer_type(of: SSAValue | Attribute) -> MemRefType[Attribute]:
    """Return the type of a contiguous global buffer with the elements of a tensor."""
    kind = shaped_type(of)
    return memref_of(kind.get_element_type(), kind.get_shape())


def size_of(of: SSAValue | Attribute) -> int:
    """Return the number of elements of a tensor or a memref."""
    return prod(shape_of(of))


def nbytes_of(of: SSAValue | Attribute) -> int:
    """Return the size of a tensor or a memref in bytes."""
    return size_of(of) * bytes_of(element_of(of))


def element_of(of: SSAValue | Attribute) -> Attribute:
    """Return the type of an element of a tensor or a memref."""
    return shaped_type(of).get_element_type()


def bytes_of(element: Attribute) -> int:
    """Return the size of an element in memory; i1 takes a byte, an index eight."""
    if type(element) is IndexType:
        return 8
    assert isinstance(element, FixedBitwidthType), f"{element} has no size"
    return element.size


def holds_sums(total: Attribute, factor: Attribute) -> bool:
    """Return whether a type can accumulate products of a type: the same, or a wider float."""
    are_floats = isinstance(total, AnyFloat) and isinstance(factor, AnyFloat)
    return total == factor or (are_floats and bytes_of(total) > bytes_of(factor))
