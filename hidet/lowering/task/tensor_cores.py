"""Lowering of matmuls to tensor cores.

`mma.sync` takes fragments, loaded by `ldmatrix`; `wgmma`, which is asynchronous, takes descriptors
of shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i1, i64
from xdsl.ir import SSAValue

from hidet.arch.fragments import ends_in
from hidet.arch.instructions import MmaInstruction
from hidet.arch.limits import WARP
from hidet.dialects import cuda
from hidet.dialects.fields import Element
from hidet.dialects.shaped import bytes_of, element_of, memref_type, shape_of
from hidet.dialects.task import MatmulOp, map_of, shared_layout_of
from hidet.errors import ScheduleError
from hidet.lowering.task.groups import insert_barrier
from hidet.mapping import TaskMap
from hidet.rewriting.builder import Index, KernelBuilder

ROW_BYTES = 16
"""The bytes of a row of a matrix that `ldmatrix` loads (PTX ISA, ldmatrix); it has 8 rows."""

GROUP_ROWS = 8
"""The rows of a swizzle atom (PTX ISA, Matrix Descriptor, stride), by which boxes are sliced."""


def lower_mma(op: MatmulOp, instruction: MmaInstruction) -> None:
    """Insert the `mma.sync` loop of a matmul before it.

    In each iteration of k the warp loads all fragments of its rows and columns once, by `ldmatrix`.
    f32 fragments are rounded to TF32, which the instruction would truncate. A register A operand is
    used as it is: two adjacent accumulator fragments have the layout of one A fragment.
    """
    m, n, k = instruction.shape
    builder = KernelBuilder.like(op)
    tasks = map_of(op.accumulator.type)
    rows, columns = fragments_of(op, instruction)
    row, column = group_start(builder, tasks, op.worker, WARP)
    lane = builder.mod(op.worker, WARP)
    in_registers = cuda.space_of(memref_type(op.lhs)) is cuda.Space.REGISTER
    left = _Fragments(builder, op.lhs, op.lhs_offsets, 1, (m, k), lane, is_left=True)
    right = _Fragments(builder, op.rhs, op.rhs_offsets, op.rhs_depth, (n, k), lane)
    # A fragment of B is half as large as one of A: one `ldmatrix` loads two of them.
    pairs = 2 if columns % 2 == 0 else 1
    regs_a = op.lhs
    if not in_registers:
        regs_a = builder.local_array(element_of(op.lhs), [rows * left.elements], "a_regs")
    regs_b = builder.local_array(element_of(op.rhs), [columns * right.elements], "b_regs")
    with builder.loop(op.depth, k, unroll=True, name="k") as at:
        if not in_registers:
            with builder.loop(rows, unroll=True, name="i") as i:
                left.load(builder.add(row, builder.mul(i, m)), at, regs_a, i)
        with builder.loop(columns // pairs, unroll=True, name="j") as j:
            start = builder.add(column, builder.mul(j, n * pairs))
            right.load(start, at, regs_b, j, pairs)
        with builder.loops([rows, columns], unroll=True) as (i, j):
            top = builder.index(builder.add(row, builder.mul(i, m)))
            a = [top, at] if in_registers else [builder.index(builder.mul(i, left.elements))]
            b = builder.index(builder.mul(j, right.elements))
            c = [top, builder.index(builder.add(column, builder.mul(j, n)))]
            elements = Element(regs_a, a), Element(regs_b, [b]), Element(op.accumulator, c)
            builder.insert(cuda.MmaSyncOp(instruction.name, *elements))


def fragments_of(op: MatmulOp, instruction: MmaInstruction) -> tuple[int, int]:
    """Check the accumulator and K of a matmul; return its fragments per group along M and N."""
    tasks = map_of(op.accumulator.type)
    if tasks.workers % instruction.group or not ends_in(tasks, instruction.accumulator):
        raise ScheduleError(
            f"the accumulator {tasks} does not consist of fragments of {instruction.ptx}"
        )
    if op.depth % instruction.shape[2]:
        raise ScheduleError(
            f"{instruction.ptx} cannot sum over {op.depth} elements",
            hint=f"a multiple of {instruction.shape[2]}",
        )
    rows, columns = (groups_along(tasks, dim, instruction.group) for dim in (0, 1))
    m, n, _ = instruction.shape
    return tasks.shape[0] // (rows * m), tasks.shape[1] // (columns * n)


def group_start(
    builder: KernelBuilder, tasks: TaskMap, worker: SSAValue, group: int = 1
) -> list[Index]:
    """Return the first task of a worker, or of its warp or warp group of `group` threads."""
    task: list[Index] = [0] * tasks.rank
    for digit in tasks.spatial_digits:
        inside = max(group // digit.weight, 1)  # the values of the digit within a group
        if inside < digit.extent:
            number = builder.div(worker, digit.weight * inside)
            if digit.weight * digit.extent < tasks.workers:
                number = builder.mod(number, digit.extent // inside)
            start = builder.mul(number, digit.stride * inside)
            task[digit.dim] = builder.add(task[digit.dim], start)
    return task


def groups_along(tasks: TaskMap, dim: int, group: int) -> int:
    """Return the number of warps or warp groups along a dimension of a tile."""
    digits = [digit for digit in tasks.spatial_digits if digit.dim == dim]
    return prod(max(d.extent // max(group // d.weight, 1), 1) for d in digits)


@dataclass
class _Fragments:
    """The fragments of a shared operand of a matmul.

    `depth` is the K dimension of the tile; the other one, M or N, is called its side. `stage` are
    its leading offsets.
    """

    builder: KernelBuilder
    tile: SSAValue
    stage: Sequence[SSAValue]
    depth: int
    fragment: tuple[int, int]
    lane: Index
    is_left: bool = False

    @property
    def elements(self) -> int:
        """The elements of a fragment per lane."""
        return self.fragment[0] * self.fragment[1] // WARP

    @property
    def _row(self) -> int:
        """The elements of a row of an `ldmatrix` matrix."""
        return ROW_BYTES // bytes_of(element_of(self.tile))

    def load(
        self, side: Index, k: SSAValue, regs: SSAValue, number: SSAValue, fragments: int = 1
    ) -> None:
        """Load adjacent fragments.

        `number` is the destination in `regs`, in units of `fragments`.
        """
        b = self.builder
        count = fragments * self.elements * bytes_of(element_of(self.tile)) // 4
        lane = b.index(b.mod(b.index(self.lane), 8 * count) if count < 4 else self.lane)
        matrix, line = b.div(lane, 8), b.mod(lane, 8)
        # The matrices of an A fragment are ordered along M first, as its registers are; those of B
        # along K, then fragment by fragment.
        inner, outer = b.mod(matrix, 2), b.div(matrix, 2)
        along_side, along_k = (inner, outer) if self.is_left else (outer, inner)
        contiguous_k = shared_layout_of(self.tile).contiguous == self.depth
        if contiguous_k:  # matrix rows are fragment rows, along k
            at_side = b.add(side, b.add(b.mul(along_side, 8), line))
            at_k = b.add(k, b.mul(along_k, self._row))
        else:  # matrix rows are columns: `ldmatrix` transposes
            at_side = b.add(side, b.mul(along_side, self._row))
            at_k = b.add(k, b.add(b.mul(along_k, 8), line))
        place = (at_side, at_k) if self.depth == 1 else (at_k, at_side)
        source = Element(self.tile, [*self.stage, *map(b.index, place)])
        first = b.index(b.mul(number, fragments * self.elements))
        b.insert(cuda.LdmatrixOp(source, Element(regs, [first]), count, trans=not contiguous_k))
        if element_of(self.tile) == f32:
            with b.loop(fragments * self.elements, unroll=True) as each:
                at = [b.index(b.add(first, each))]
                b.store(b.insert(cuda.RoundTf32Op(b.load(regs, at))).result, regs, at)


def lower_wgmma(op: MatmulOp, instruction: MmaInstruction) -> None:
    """Insert the `wgmma` instructions of a matmul before it, as one commit group.

    An `async` matmul is only issued: the ring's owner orders its tiles. Any other one first waits
    for all stores to its tiles, and then for its own completion.
    """
    rows, columns = fragments_of(op, instruction)
    builder = KernelBuilder.like(op)
    m, n, k = instruction.shape
    tasks = map_of(op.accumulator.type)
    row, column = group_start(builder, tasks, op.worker, instruction.group)
    right = _Operand(op.rhs, op.rhs_depth, n, instruction.ptx)
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
