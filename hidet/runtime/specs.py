"""Specs of tensors, scalars and tensor maps; time spans."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

WORD = 8
"""The size of a pointer, and of the widest scalar argument, in bytes."""

DtypeName = Literal["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "i1"]
"""An element type, named as in the IR; i1 is torch.bool, of one byte."""

ITEM_SIZES: dict[DtypeName, int] = {
    "f64": 8,
    "f32": 4,
    "f16": 2,
    "bf16": 2,
    "i64": 8,
    "i32": 4,
    "i16": 2,
    "i8": 1,
    "i1": 1,
}
"""The size of an element in bytes."""


@dataclass(frozen=True)
class TensorSpec:
    """A contiguous tensor."""

    shape: tuple[int, ...]
    dtype: DtypeName

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        size = ITEM_SIZES[self.dtype]
        for extent in self.shape:
            size *= extent
        return size


@dataclass(frozen=True)
class Scalar:
    """A scalar argument, as the bits of its type."""

    dtype: DtypeName
    bits: int


@dataclass(frozen=True)
class TensorMapSpec:
    """The parameters of a tensor map, except the address.

    Attributes:
        dtype: the element type.
        shape: the extents, the fastest dimension last.
        strides: the strides in bytes, for each dimension but the last.
        box: the extents of a box; in im2col mode the number of pixels, and of channels.
        swizzle: the span of the swizzle in bytes; 0 for none.
        pixels: in im2col mode the first pixel that a copy can begin at, the last one, and the
            distance of adjacent ones; else empty.
        tf32: whether loads round f32 to TF32.
    """

    dtype: DtypeName
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int
    pixels: tuple[tuple[int, ...], ...] = ()
    tf32: bool = False


class Span(NamedTuple):
    """The start and the end of a launch, in nanoseconds of some clock."""

    start: int
    end: int
