"""How a product of tiles by warp groups is spelled out: descriptors of both tiles, and `wgmma`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i1, i64
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from hidet.arch.instructions import MmaInstruction
from hidet.dialects.cuda import FenceProxyAsyncOp
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.plain_ops import WgmmaCommitOp, WgmmaFenceOp
from hidet.dialects.cuda.table_ops import Element
from hidet.dialects.cuda.tensor_core import (
    MatrixDescriptorOp,
    WgmmaFenceOperandOp,
    WgmmaOp,
    WgmmaRsOp,
    WgmmaWaitOp,
)
from hidet.dialects.shaped import bytes_of, element_of, memref_type, shape_of
from hidet.dialects.task import MatmulOp
from hidet.dialects.task.layout import map_of, shared_layout_of
from hidet.errors import ScheduleError
from hidet.lowering.task.groups import insert_barrier
from hidet.lowering.task.lower_mma import check_fragments, group_start, groups_along
from hidet.rewriting.builder import Index, KernelBuilder

GROUP_ROWS = 8
"""The rows of a panel whose segments trade places (PTX ISA, Matrix Descriptor, stride)."""


def lower_wgmma(op: MatmulOp, instruction: MmaInstruction) -> None:
    """Insert before a product via `wgmma` what the warp groups do: describe tiles, multiply them.

    The products of one op are a group. An `async` one is only begun, its tiles are ordered by who
    has made the ring; any other one waits until all have stored its tiles, and for its end.

    Raises:
        ScheduleError: the tiles are not what the instruction takes.
    """
    check_fragments(op, instruction)
    builder = KernelBuilder(InsertPoint.before(op))
    m, n, k = instruction.shape
    tasks = map_of(op.accumulator.type)
    row, column = group_start(builder, tasks, op.worker, instruction.group)
    rows, columns = (
        extent // (groups_along(tasks, dim, instruction.group) * part)
        for dim, (extent, part) in enumerate(zip(tasks.shape, (m, n), strict=True))
    )
    right = _Factor(op.rhs, 0, n, instruction.ptx)
    if op.is_async is None:
        builder.insert(FenceProxyAsyncOp())
        insert_barrier(builder, op)
    builder.insert(WgmmaFenceOp())
    multiply = _multiply_from_registers if _is_in_registers(op.lhs) else _multiply_from_shared
    product = multiply(builder, op, instruction, row, right)
    b = right.descriptor(builder, op.rhs_offsets, column)
    for step in range(0, op.depth, k):
        for i in range(rows):
            for j in range(columns):
                place = (builder.add(row, i * m), builder.add(column, j * n))
                d = Element(op.accumulator, [builder.index(each) for each in place])
                adds = step > 0 or op.overwrites is None
                product(i * m, step, _moved(builder, b, right.distance(j * n, step)), d, adds)
    builder.insert(WgmmaCommitOp())
    if op.is_async is None:
        wait_for_products(builder, op.accumulator, 0)


Multiply = Callable[[int, int, SSAValue, Element, bool], None]
"""Inserts one instruction, by the distance of its rows and of its k from the first ones, the
descriptor of its right factor, its part of the accumulator, and whether it adds to that."""


def _multiply_from_shared(
    builder: KernelBuilder, op: MatmulOp, instruction: MmaInstruction, row: Index, right: _Factor
) -> Multiply:
    """Return what multiplies a left factor in shared memory."""
    left = _Factor(op.lhs, 1, instruction.shape[0], instruction.ptx)
    a = left.descriptor(builder, op.lhs_offsets, row)

    def multiply(side: int, k: int, b: SSAValue, d: Element, adds: bool) -> None:
        add = builder.insert(arith.ConstantOp(IntegerAttr(int(adds), i1))).result
        moved = _moved(builder, a, left.distance(side, k))
        flags = {"trans_a": left.is_transposed, "trans_b": right.is_transposed}
        builder.insert(WgmmaOp(instruction.name, moved, b, d, add, **flags))

    return multiply


def _multiply_from_registers(
    builder: KernelBuilder, op: MatmulOp, instruction: MmaInstruction, row: Index, right: _Factor
) -> Multiply:
    """Return what multiplies a left factor in registers, of fragments side by side."""

    def multiply(side: int, k: int, b: SSAValue, d: Element, adds: bool) -> None:
        add = builder.insert(arith.ConstantOp(IntegerAttr(int(adds), i1))).result
        a = Element(op.lhs, [builder.index(builder.add(row, side)), builder.index(k)])
        builder.insert(WgmmaRsOp(instruction.name, a, b, d, add, trans_b=right.is_transposed))

    return multiply


def _is_in_registers(tile: SSAValue) -> bool:
    """Return whether a tile is in registers, not in shared memory."""
    return space_of(memref_type(tile)) is Space.REGISTER


def wait_for_products(builder: KernelBuilder, accumulator: SSAValue, pending: int) -> None:
    """Wait until so many groups of products are under way; with 0 accumulators may be read."""
    builder.insert(WgmmaWaitOp(pending))
    if pending == 0:
        fence_accumulator(builder, accumulator)


def fence_accumulator(builder: KernelBuilder, accumulator: SSAValue) -> None:
    """Have what is done with an accumulator come after the wait for its products."""
    count = map_of(accumulator.type).tasks_per_worker
    first = [builder.index(0)] * len(shape_of(accumulator))
    builder.insert(WgmmaFenceOperandOp(count, Element(accumulator, first)))


def _moved(builder: KernelBuilder, descriptor: SSAValue, distance: int) -> SSAValue:
    """Return the descriptor of a matrix that starts some bytes further on."""
    if distance == 0:
        return descriptor
    units = builder.insert(arith.ConstantOp(IntegerAttr(distance // 16, i64)))
    return builder.insert(arith.AddiOp(descriptor, units)).result


@dataclass(frozen=True)
class _Factor:
    """A factor of a product in shared memory (PTX ISA, Matrix Descriptor, canonical layouts).

    Attributes:
        tile: the tile, in panels of swizzled rows.
        depth: its dimension of k; the other one is called its side.
        extent: how much of its side an instruction takes.
        ptx: the instruction, for messages.
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
        """Whether neighbours along the side, not along k, are neighbours in memory."""
        return shared_layout_of(self.tile).contiguous != self.depth

    @property
    def _row(self) -> int:
        """The bytes of a row of a panel."""
        return shared_layout_of(self.tile).swizzle

    @property
    def _panel(self) -> int:
        """The bytes of a panel."""
        size = prod(shape_of(self.tile)[-2:]) * bytes_of(element_of(self.tile))
        run = shape_of(self.tile)[shared_layout_of(self.tile).contiguous - 2]
        return size * self._row // (run * bytes_of(element_of(self.tile)))

    def descriptor(
        self, builder: KernelBuilder, stage: Sequence[SSAValue], start: Index
    ) -> SSAValue:
        """Return the descriptor of what starts somewhere on the side, at the first k."""
        place = [start, 0] if self.depth == 1 else [0, start]
        source = Element(self.tile, [*stage, *map(builder.index, place)])
        leading = self._panel if self.is_transposed else 16  # not read where k lies in one row
        op = MatrixDescriptorOp(
            source, leading=leading, stride=GROUP_ROWS * self._row, swizzle=self._row
        )
        return builder.insert(op).result

    def distance(self, side: int, k: int) -> int:
        """Return how many bytes lie between the first element and another one of whole panels."""
        run, row = (side, k) if self.is_transposed else (k, side)
        span = shared_layout_of(self.tile).span(element_of(self.tile))
        inner = run % span * bytes_of(element_of(self.tile))
        return run // span * self._panel + row * self._row + inner
