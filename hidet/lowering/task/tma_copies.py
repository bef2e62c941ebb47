"""Tile copies by TMA: tensor maps of windows and im2col views, and box loads and stores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from hidet.analysis.im2col import Im2col, has_tiles, im2col_of
from hidet.analysis.windows import Window, window_of
from hidet.dialects.cuda import ALIGNMENT, MAX_BOX, MAX_RANK, TensorMapOp, TensorMapType, TmaLoadOp
from hidet.dialects.cuda.table_ops import Element
from hidet.dialects.shaped import bytes_of, element_of, shape_of
from hidet.dialects.task import CopyOp, MatmulOp, shared_layout_of
from hidet.rewriting.builder import Index, KernelBuilder


@dataclass(frozen=True)
class TmaSource(ABC):
    """A window of a buffer that TMA can copy a tile from, one panel of the tile at a time.

    `kind` is the type of its tensor map.
    """

    # The unroll factor of the producer loop; 0 leaves it to the compiler.
    UNROLL: ClassVar[int] = 0

    window: Window
    kind: TensorMapType

    def build_map(self, builder: KernelBuilder) -> SSAValue:
        """Build the tensor map."""
        buffer, offset, strides = self.window.buffer, self.window.offset, self.window.strides
        return builder.insert(TensorMapOp(buffer, self.kind, offset, strides)).result

    def build_loads(
        self,
        builder: KernelBuilder,
        tensor_map: SSAValue,
        offsets: Sequence[SSAValue],
        tile: Element,
        barrier: Element,
    ) -> None:
        """Build the loads of all panels of a tile; the barrier counts their bytes."""
        for coordinates, offset, panel in self.panels(builder, offsets, tile):
            builder.insert(TmaLoadOp(tensor_map, coordinates, offset, panel, barrier))

    @abstractmethod
    def panels(
        self, builder: KernelBuilder, offsets: Sequence[SSAValue], tile: Element
    ) -> Iterator[tuple[Sequence[SSAValue], Sequence[SSAValue], Element]]:
        """Yield the coordinates, im2col offsets and first element of each panel of a tile."""


@dataclass(frozen=True)
class TmaWindow(TmaSource):
    """A window of a buffer that TMA can copy in one box per panel.

    `dims` are its dimensions of extent > 1 in tensor map order, the contiguous one last.
    """

    dims: tuple[int, ...]

    @staticmethod
    def of(window: Window | None, shape: tuple[int, ...], tile: SSAValue) -> TmaWindow | None:
        """Return the TMA copy between a tile and a window, None if it is not possible.

        The tile must be swizzled; window and tile must be contiguous along the same dimension, and
        all other strides multiples of 16 bytes.
        """
        layout, rank = shared_layout_of(tile), len(shape)
        if window is None or not layout.swizzle or 0 in shape:
            return None
        inner, outer = rank - 2 + layout.contiguous, rank - 1 - layout.contiguous
        dims = (*(dim for dim in range(rank - 2) if shape[dim] > 1), outer, inner)
        element = element_of(tile)
        panel = shape_of(tile)[-1 - layout.contiguous], layout.span(element)
        is_possible = (
            is_aligned(window, shape, bytes_of(element), layout.contiguous)
            and len(dims) <= MAX_RANK
            and panel[0] <= MAX_BOX
        )
        if not is_possible:
            return None
        tensor = TensorType(element_of(window.buffer), [shape[dim] for dim in dims])
        box = [1] * (len(dims) - 2) + list(panel)
        kind = TensorMapType(tensor, box, layout.swizzle, tf32=_is_tf32(tile))
        strides = tuple(window.strides[dim] for dim in dims)
        return TmaWindow(Window(window.buffer, window.offset, strides), kind, dims)

    def panels(
        self, builder: KernelBuilder, offsets: Sequence[SSAValue], tile: Element
    ) -> Iterator[tuple[Sequence[SSAValue], Sequence[SSAValue], Element]]:
        """Yield the coordinates and the first element of each panel of a tile."""
        for start, panel in _panels_of(builder, tile):
            place: list[Index] = [offsets[dim] for dim in self.dims]
            place[-1] = builder.add(place[-1], start)
            yield list(map(builder.word, reversed(place))), (), panel


def is_aligned(window: Window, shape: Sequence[int], size: int, contiguous: int = 1) -> bool:
    """Return whether a window of elements of a size has addresses and strides that TMA can take.

    `contiguous` is 1 for a row-major window, 0 for a column-major one.
    """
    *leading, row, column = window.strides
    outer, inner = (row, column) if contiguous else (column, row)
    steps = [step for step, extent in zip(leading, shape[:-2], strict=True) if extent > 1]
    return (
        inner == 1
        and all(step > 0 and step * size % ALIGNMENT == 0 for step in (*steps, outer))
        and window.offset >= 0
        and window.offset * size % ALIGNMENT == 0
    )


@dataclass(frozen=True)
class TmaPixels(TmaSource):
    """An im2col view of images that TMA can copy in im2col mode, one copy per panel."""

    # Full unrolling exceeds the registers of the producer.
    UNROLL: ClassVar[int] = 4

    view: Im2col
    shape: tuple[int, ...]

    @staticmethod
    def of(view: SSAValue, tile: SSAValue) -> TmaPixels | None:
        """Return the TMA copy of a tile of a view, None if it is not possible.

        The tile must be swizzled and row-major, and lie within one filter tap at any offset.
        """
        layout, found = shared_layout_of(tile), im2col_of(view)
        rows, columns = shape_of(tile)[-2:]
        if found is None or not layout.swizzle or not layout.contiguous:
            return None
        panel = rows, layout.span(element_of(tile))
        if (
            not has_tiles(columns, found.channels, found.columns)
            or found.pixels.problem(found.shape, panel) is not None
        ):
            return None
        tensor = TensorType(element_of(found.images.buffer), found.shape)
        kind = TensorMapType(tensor, panel, layout.swizzle, found.pixels, tf32=_is_tf32(tile))
        return TmaPixels(found.images, kind, found, shape_of(view))

    def panels(
        self, builder: KernelBuilder, offsets: Sequence[SSAValue], tile: Element
    ) -> Iterator[tuple[Sequence[SSAValue], Sequence[SSAValue], Element]]:
        """Yield the base pixel, the filter tap and the first element of each panel of a tile."""
        b, view = builder, self.view
        *parts, row, column = offsets
        *counts, _, columns = self.shape
        image, *places = b.delinearize(row, (view.shape[0], *(a.positions for a in view.axes)))
        *taps, channel = b.delinearize(
            b.index(b.linearize([*parts, column], [*counts, columns])),
            (*(axis.taps for axis in view.axes), view.channels),
        )
        pixel = [
            b.word(b.subtract(b.mul(place, axis.stride), axis.padding))
            for place, axis in zip(places, view.axes, strict=True)
        ]
        away = [
            b.word(b.mul(tap, axis.dilation)) for tap, axis in zip(taps, view.axes, strict=True)
        ]
        for start, panel in _panels_of(builder, tile):
            first = [b.word(b.add(channel, start)), *pixel[::-1], b.word(image)]
            yield first, away[::-1], panel


@dataclass(frozen=True)
class TmaCopy:
    """A copy to a shared tile that TMA can make."""

    op: CopyOp
    source: TmaSource

    @staticmethod
    def of(op: CopyOp) -> TmaCopy | None:
        """Return the TMA copy of a task copy, None if its source is computed or misaligned."""
        if op.sizes:
            return None
        source: TmaSource | None = TmaWindow.of(window_of(op.source), shape_of(op.source), op.tile)
        source = source or TmaPixels.of(op.source, op.tile)
        return None if source is None else TmaCopy(op, source)

    @property
    def bytes(self) -> int:
        """The bytes of the tile."""
        return prod(shape_of(self.op.tile)[-2:]) * bytes_of(element_of(self.op.tile))


def _is_tf32(tile: SSAValue) -> bool:
    """Return whether a matmul reads a tile as TF32, to which TMA rounds; `wgmma` would truncate."""
    matmuls = (use.operation for use in tile.uses if isinstance(use.operation, MatmulOp))
    return any(op.instruction is not None and op.instruction.kind == "tf32" for op in matmuls)


def _panels_of(builder: KernelBuilder, tile: Element) -> Iterator[tuple[int, Element]]:
    """Yield the offset of each panel along the contiguous dimension, and its first element."""
    layout = shared_layout_of(tile.memref)
    run = shape_of(tile.memref)[layout.contiguous - 2]
    for start in range(0, run, layout.span(element_of(tile.memref))):
        first = [0, start] if layout.contiguous else [start, 0]
        yield start, Element(tile.memref, [*tile.indices, *map(builder.index, first)])
