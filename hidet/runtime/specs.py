"""Specs of tensors, scalars and tensor maps; time spans."""

from dataclasses import dataclass
from math import prod
from typing import Literal, NamedTuple, get_args

WORD = 8
"""The size of a pointer, and of the widest scalar argument, in bytes."""

DtypeName = Literal["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "i1"]
"""An element type, named as in the IR; i1 is torch.bool, of one byte."""

ITEM_SIZES: dict[DtypeName, int] = {
    name: max(int(name.lstrip("bfi")) // 8, 1) for name in get_args(DtypeName)
}
"""The size of an element in bytes."""


@dataclass(frozen=True)
class TensorSpec:
    """A contiguous tensor."""

    shape: tuple[int, ...]
    dtype: DtypeName

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return ITEM_SIZES[self.dtype] * self.size


@dataclass(frozen=True)
class Scalar:
    """A scalar argument, as the bits of its type."""

    dtype: DtypeName
    bits: int


@dataclass(frozen=True)
class TensorMapSpec:
    """The parameters of a tensor map, except the address.

    Attributes:
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
