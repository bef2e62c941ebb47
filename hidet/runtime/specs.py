"""What kernels are given, and callers pass, as values; and when kernels ran."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

WORD = 8
"""The bytes of a word: of a pointer, and of the widest number that a kernel gets."""

DtypeName = Literal["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "i1"]
"""An element type, named as in the IR; i1 is torch.bool, one byte an element."""

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
"""The bytes of one element."""


@dataclass(frozen=True)
class TensorSpec:
    """A contiguous tensor that a caller passes or gets."""

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
    """A number that a kernel gets by value, as the bits of its type."""

    dtype: DtypeName
    bits: int


@dataclass(frozen=True)
class TensorMapSpec:
    """A tensor in memory and the boxes of it that kernels copy, as a tensor map says it.

    Attributes:
        dtype: the element type.
        shape: the extents, the fastest dimension last.
        strides: the bytes from one element to the next, for each dimension but the last.
        box: the extents of a box; of a copy of pixels how many there are, and of how many channels.
        swizzle: the span in bytes that the pieces of a row are permuted in; 0 for none.
        pixels: the first pixel of an image that a copy can begin at, the last one and the distance
            of neighbours, where kernels copy pixels; else nothing.
    """

    dtype: DtypeName
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int
    pixels: tuple[tuple[int, ...], ...] = ()


class Span(NamedTuple):
    """When a launch began and ended, in nanoseconds of some clock."""

    start: int
    end: int
