"""Residuals of epilogues that TMA loads into the shared tiles of the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from hidet.analysis.kernels import kernel_of
from hidet.analysis.memory import memory_space
from hidet.analysis.windows import Window, sink_window, window_read
from hidet.dialects import cuda
from hidet.dialects.compute import LoadOp, SinkOp
from hidet.dialects.cuda.attributes import Space
from hidet.dialects.cuda.table_ops import Element
from hidet.dialects.shaped import bytes_of, element_of, shape_of
from hidet.dialects.task import CopyOp, ForeachOp
from hidet.lowering.task.matmul_loops import allocate_mbarriers
from hidet.lowering.task.tma_copies import TmaWindow, is_aligned
from hidet.lowering.templates.blocking import STAGED_RESIDUAL
from hidet.lowering.templates.config import choices_of
from hidet.mapping import TaskMap
from hidet.rewriting.builder import KernelBuilder


def staged_residual(copy: CopyOp, sink: SinkOp) -> tuple[LoadOp, Window] | None:
    """Return the residual that a config asks to be staged: its load in the sink, and its window.

    A residual has an element for each of the result, of the same type, and rows that TMA can load.
    Of several, it is the first.
    """
    if choices_of(kernel_of(copy)).get("epilogue") != STAGED_RESIDUAL:
        return None
    found = sink_window(sink)
    if found is None:
        return None
    shape, element = shape_of(sink.result), element_of(found[0].target)
    for op in sink.body.block.ops:
        if isinstance(op, LoadOp) and memory_space(op.source) is Space.GLOBAL:
            window = window_read(op, sink.indices)
            is_same = element_of(op.source) == element
            if window is not None and is_same and is_aligned(window, shape, bytes_of(element)):
                return op, window
    return None


@dataclass(frozen=True)
class StagedResidual:
    """A residual that TMA loads into the slots of a staged result, ahead of the matmul loop.

    `load` reads an element in the sink, and `tile` are the slots of each warp group. They have an
    mbarrier each, `arrived`; the parity of their phase is a variable of each thread.
    """

    load: LoadOp
    source: TmaWindow
    tile: SSAValue
    arrived: SSAValue
    parity: SSAValue

    @classmethod
    def of(
        cls, load: LoadOp, window: Window, tile: SSAValue, copy: CopyOp
    ) -> StagedResidual | None:
        """Allocate the barriers of a residual; None if TMA cannot load it."""
        source = TmaWindow.of(window, shape_of(copy.target), tile)
        if source is None:
            return None
        builder = KernelBuilder(InsertPoint.after(cast("Operation", tile.owner)))
        arrived = allocate_mbarriers(builder, "arrived", *shape_of(tile)[:2])
        return cls(load, source, tile, arrived, builder.local_array(i32, []))

    def initialize(self, builder: KernelBuilder, group: SSAValue, is_first: SSAValue) -> None:
        """Initialize the barriers of a warp group, which must synchronize after it."""
        builder.store(builder.scalar(0, i32), self.parity)
        with builder.when(is_first):
            for slot in range(shape_of(self.tile)[1]):
                barrier = self._barrier(builder, group, slot)
                builder.insert(cuda.MbarrierInitOp(barrier, builder.scalar(1, i32)))
            builder.insert(cuda.FenceMbarrierInitOp())

    def request(
        self,
        builder: KernelBuilder,
        group: SSAValue,
        is_first: SSAValue,
        offsets: Sequence[Sequence[SSAValue]],
    ) -> None:
        """Load the pieces at some offsets, once stores have read what was in their slots."""
        rows, columns = shape_of(self.tile)[-2:]
        size = builder.scalar(rows * columns * bytes_of(element_of(self.tile)), i32)
        tensor_map = self.source.build_map(builder)
        with builder.when(is_first):
            builder.insert(cuda.TmaWaitOp(0))
            for slot, each in enumerate(offsets):
                barrier = self._barrier(builder, group, slot)
                builder.insert(cuda.MbarrierExpectOp(barrier, size))
                place = Element(self.tile, [group, builder.index(slot)])
                self.source.build_loads(builder, tensor_map, each, place, barrier)

    def read(
        self, builder: KernelBuilder, place: Element, piece: TaskMap, worker: SSAValue
    ) -> SSAValue:
        """Wait for the piece in a slot, and return it in registers."""
        barrier = Element(self.arrived, place.indices)
        builder.insert(cuda.MbarrierWaitOp(barrier, builder.load(self.parity)))
        registers = builder.register_tile(element_of(self.tile), piece)
        registers.name_hint = self.load.result.name_hint
        foreach = builder.insert(ForeachOp(piece, worker))
        with builder.inside(foreach.body.block):
            extents = zip(foreach.indices, shape_of(self.tile)[-2:], strict=True)
            own = [builder.mod(index, extent) for index, extent in extents]
            value = builder.load(place.memref, [*place.indices, *own])
            builder.store(value, registers, foreach.indices)
        return registers

    def flip(self, builder: KernelBuilder) -> None:
        """Expect the next phase from now on."""
        other = arith.XOrIOp(builder.load(self.parity), builder.scalar(1, i32))
        builder.store(builder.insert(other).result, self.parity)

    def _barrier(self, builder: KernelBuilder, group: SSAValue, slot: int) -> Element:
        return Element(self.arrived, [group, builder.index(slot)])
