"""What a product of matrices is to the templates that can compute it."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from hidet.analysis.im2col import im2col_of
from hidet.analysis.windows import window_of
from hidet.dialects.compute import FusionOp
from hidet.dialects.graph import MatmulOp
from hidet.dialects.shaped import bytes_of, element_of, shape_of, size_of

VECTOR = 16
"""The bytes of which distances are multiples for TMA (CUDA driver API, tensor maps)."""


@dataclass(frozen=True)
class Problem:
    """A product of matrices [batch, m, k] and [batch, k, n].

    Attributes:
        batch: how many products there are.
        m: the rows of the result.
        n: its columns.
        k: over how many products each element is summed.
        kind: the type of the factors, `tf32` where f32 may be rounded to it, `fma` where tensor
            cores may not multiply them.
        total: the type of the sums.
        element_bytes: the bytes of a factor.
        result_bytes: the bytes of what is stored of an element of the result.
        parts: the columns of each of several products that share the left factor; `n` counts all.
        stored: the columns of the results that are stored of these.
        gathered: whether the left factor is no window of a tensor, as what the filters of a
            convolution see is none: threads fetch it, and add up the address of each vector.
        channels: those of a pixel, where it is that and TMA can follow it: it fetches tiles of one
            tap of the filters. Else 0.
        streams: whether all factors can come by TMA, as windows with aligned rows or as pixels: the
            tiles of the next result are then fetched while one is stored.
    """

    batch: int
    m: int
    n: int
    k: int
    kind: str
    total: str
    element_bytes: int
    result_bytes: int = 2
    gathered: bool = False
    channels: int = 0
    parts: tuple[int, ...] = ()
    stored: tuple[int, ...] = ()
    streams: bool = True

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns of each product."""
        return self.parts or (self.n,)

    @classmethod
    def of(cls, anchor: MatmulOp, *siblings: MatmulOp) -> Problem:
        """Return the problem of a product of the graph, or in a fusion, with its siblings."""
        element, result = element_of(anchor.lhs), shape_of(anchor.result)
        precision = anchor.precision.data
        kind = precision if precision in ("tf32", "fma") else str(element)
        fusion, products = anchor.parent_op(), [each.result for each in (anchor, *siblings)]
        stored = fusion.results_ if isinstance(fusion, FusionOp) else products
        parts = tuple(shape_of(value)[-1] for value in products)
        rows = max(prod(result[:-1]), 1)
        gathered = window_of(anchor.lhs) is None
        pixels = im2col_of(anchor.lhs) if gathered else None
        windows = (*(() if pixels else (anchor.lhs,)), *(each.rhs for each in (anchor, *siblings)))
        return cls(
            batch=prod(result[:-2]),
            m=result[-2],
            n=sum(parts),
            k=shape_of(anchor.lhs)[-1],
            kind=kind,
            total=str(element_of(anchor.result)),
            element_bytes=bytes_of(element),
            result_bytes=max(bytes_of(element_of(value)) for value in stored),
            gathered=gathered,
            channels=pixels.channels if pixels else 0,
            streams=all(map(is_aligned_window, windows)),
            parts=parts if siblings else (),
            stored=tuple(size_of(value) // rows for value in stored) if siblings else (),
        )


def is_aligned_window(factor: SSAValue) -> bool:
    """Return whether a factor is a window whose rows begin at multiples of 16 bytes."""
    window, size = window_of(factor), bytes_of(element_of(factor))
    if window is None:
        return False
    steps = zip(window.strides, shape_of(factor), strict=True)
    apart = [stride for stride, extent in steps if extent > 1 and stride != 1]
    return all(step * size % VECTOR == 0 for step in (window.offset, *apart))
