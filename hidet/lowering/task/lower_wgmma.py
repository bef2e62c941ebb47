"""Lowering of a matmul to `wgmma`: shared memory descriptors and asynchronous instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from hidet.arch.instructions import MmaInstruction
from hidet.dialects import cuda
from hidet.dialects.fields import Element
from hidet.dialects.shaped import bytes_of, element_of, shape_of
from hidet.dialects.task import MatmulOp, map_of, shared_layout_of
from hidet.errors import ScheduleError
from hidet.lowering.task.groups import insert_barrier
from hidet.lowering.task.lower_mma import check_fragments, group_start, groups_along
from hidet.rewriting.builder import Index, KernelBuilder

GROUP_ROWS = 8
"""The rows of a swizzle atom (PTX ISA, Matrix Descriptor, stride)."""


def lower_wgmma(op: MatmulOp, instruction: MmaInstruction) -> None:
    """Insert the `wgmma` instructions of a matmul before it, as one commit group.

    An `async` matmul is only issued: the ring's owner orders its tiles. Any other one first waits
    for all stores to its tiles, and then for its own completion.
    """
    check_fragments(op, instruction)
    builder = KernelBuilder.like(op)
    m, n, k = instruction.shape
    tasks = map_of(op.accumulator.type)
    row, column = group_start(builder, tasks, op.worker, instruction.group)
    rows, columns = (
        extent // (groups_along(tasks, dim, instruction.group) * part)
        for dim, (extent, part) in enumerate(zip(tasks.shape, (m, n), strict=True))
    )
    right = _Operand(op.rhs, 0, n, instruction.ptx)
    if op.is_async is None:
        builder.insert(cuda.FenceProxyAsyncOp())
        insert_barrier(builder, op)
    builder.insert(cuda.WgmmaFenceOp())
    left = a = None
    if cuda.space_of(op.lhs.type) is cuda.Space.SHARED:
        left = _Operand(op.lhs, 1, m, instruction.ptx)
        a = left.descriptor(builder, op.lhs_offsets, row)
    b = right.descriptor(builder, op.rhs_offsets, column)
    flags = {"trans_b": right.is_transposed}
    for step in range(0, op.depth, k):
        for i in range(rows):
            for j in range(columns):
                place = (builder.add(row, i * m), builder.add(column, j * n))
                d = Element(op.accumulator, [builder.index(each) for each in place])
                moved = _moved(builder, b, right.distance(j * n, step))
                add = builder.scalar(step > 0 or op.overwrites is None, i1)
                if left is None or a is None:
                    lhs = Element(op.lhs, [builder.index(place[0]), builder.index(step)])
                    builder.insert(cuda.WgmmaRsOp(instruction.name, lhs, moved, d, add, **flags))
                else:
                    lhs = _moved(builder, a, left.distance(i * m, step))
                    flags["trans_a"] = left.is_transposed
                    builder.insert(cuda.WgmmaOp(instruction.name, lhs, moved, d, add, **flags))
    builder.insert(cuda.WgmmaCommitOp())
    if op.is_async is None:
        wait_for_wgmma(builder, op.accumulator)


def wait_for_wgmma(builder: KernelBuilder, accumulator: SSAValue, pending: int = 0) -> None:
    """Wait until at most `pending` groups are in flight, and an accumulator may be read."""
    builder.insert(cuda.WgmmaWaitOp(pending))
    fence_accumulator(builder, accumulator)


def fence_accumulator(builder: KernelBuilder, accumulator: SSAValue) -> None:
    """Keep reads of an accumulator after the wait for its matmul."""
    count = map_of(accumulator.type).tasks_per_worker
    first = [builder.index(0)] * len(shape_of(accumulator))
    builder.insert(cuda.WgmmaFenceOperandOp(count, Element(accumulator, first)))


def _moved(builder: KernelBuilder, descriptor: SSAValue, distance: int) -> SSAValue:
    if distance == 0:
        return descriptor
    return builder.insert(arith.AddiOp(descriptor, builder.scalar(distance // 16, i64))).result


@dataclass(frozen=True)
class _Operand:
    """A shared operand of a matmul (PTX ISA, Matrix Descriptor, canonical layouts).

    `depth` is the K dimension of the tile; the other one, M or N, is called its side, of which an
    instruction takes `extent`.
    """

    tile: SSAValue
    depth: int
    extent: int
    ptx: str

    def __post_init__(self) -> None:
        layout = shared_layout_of(self.tile)
        if not layout.swizzle:
            raise ScheduleError(
                f"{self.ptx} takes swizzled tiles, not {self.tile.type}",
                hint="rows of a multiple of 32 bytes",
            )
        if self.is_transposed and bytes_of(element_of(self.tile)) != 2:
            raise ScheduleError(f"{self.ptx} takes tiles that are contiguous along k")
        if self.is_transposed and self.extent % layout.span(element_of(self.tile)):
            raise ScheduleError(
                f"{self.ptx} cannot take panels of {layout.swizzle} bytes of {self.tile.type}"
            )

    @property
    def is_transposed(self) -> bool:
        """Whether the side, not K, is contiguous in memory."""
        return shared_layout_of(self.tile).contiguous != self.depth

    @property
    def _row(self) -> int:
        return shared_layout_of(self.tile).swizzle

    @property
    def _panel(self) -> int:
        size = prod(shape_of(self.tile)[-2:]) * bytes_of(element_of(self.tile))
        run = shape_of(self.tile)[shared_layout_of(self.tile).contiguous - 2]
        return size * self._row // (run * bytes_of(element_of(self.tile)))

    def descriptor(
        self, builder: KernelBuilder, stage: Sequence[SSAValue], start: Index
    ) -> SSAValue:
        """Return the descriptor of the operand at an offset along the side."""
        place = [start, 0] if self.depth == 1 else [0, start]
        source = Element(self.tile, [*stage, *map(builder.index, place)])
        leading = self._panel if self.is_transposed else 16  # ignored if k fits into one row
        op = cuda.MatrixDescriptorOp(
            source, leading=leading, stride=GROUP_ROWS * self._row, swizzle=self._row
        )
        return builder.insert(op).result

    def distance(self, side: int, k: int) -> int:
        """Return the offset in bytes of an element at multiples of the instruction's extents."""
        run, row = (side, k) if self.is_transposed else (k, side)
        span = shared_layout_of(self.tile).span(element_of(self.tile))
        inner = run % span * bytes_of(element_of(self.tile))
        return run // span * self._panel + row * self._row + inner
