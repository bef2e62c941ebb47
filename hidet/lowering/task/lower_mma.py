"""How a product of tiles by warps is spelled out: fragments by `ldmatrix`, and `mma.sync`."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from hidet.arch.fragments import ends_in
from hidet.arch.instructions import MmaInstruction
from hidet.arch.limits import WARP
from hidet.dialects.cuda.arithmetic import RoundTf32Op
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.table_ops import Element
from hidet.dialects.cuda.tensor_core import LdmatrixOp, MmaSyncOp
from hidet.dialects.shaped import bytes_of, element_of, memref_type
from hidet.dialects.task import MatmulOp
from hidet.dialects.task.layout import map_of, shared_layout_of
from hidet.errors import ScheduleError
from hidet.mapping import TaskMap
from hidet.rewriting.builder import Index, KernelBuilder

ROW_BYTES = 16
"""The bytes of a row of a matrix that `ldmatrix` loads (PTX ISA, ldmatrix); it has 8 rows."""


def lower_mma(op: MatmulOp, instruction: MmaInstruction) -> None:
    """Insert before a product via `mma.sync` what the warps do: load fragments, multiply them.

    For each step of k the fragments of all rows and of all columns of the warp are loaded, each of
    them once, by `ldmatrix`. Those of f32 are rounded to TF32 there: the instruction cuts them off.
    A left factor in registers consists of fragments: two neighbouring ones of an accumulator hold
    what one of the left factor does, in the same order.

    Raises:
        ScheduleError: the tiles are not what the instruction takes.
    """
    _Product(op, instruction).build()


@dataclass
class _Product:
    """One product of tiles by the warps of a block."""

    op: MatmulOp
    instruction: MmaInstruction

    def build(self) -> None:
        """Build the loop over k ahead of the op."""
        op, (m, n, k) = self.op, self.instruction.shape
        builder = KernelBuilder(InsertPoint.before(op))
        tasks = map_of(op.accumulator.type)
        check_fragments(op, self.instruction)
        row, column = group_start(builder, tasks, op.worker, WARP)
        warps = [groups_along(tasks, dim, WARP) for dim in (0, 1)]
        rows, columns = (
            extent // (count * part)
            for extent, count, part in zip(tasks.shape, warps, (m, n), strict=True)
        )
        lane = builder.mod(op.worker, WARP)
        in_registers = space_of(memref_type(op.lhs)) is Space.REGISTER
        left = _Operand(builder, op.lhs, op.lhs_offsets, 1, (m, k), lane)
        right = _Operand(builder, op.rhs, op.rhs_offsets, 0, (n, k), lane)
        # Two fragments of the right side are as large as one of the left: one `ldmatrix` for both.
        pairs = 2 if columns % 2 == 0 else 1
        regs_a = op.lhs
        if not in_registers:
            regs_a = builder.local_array(element_of(op.lhs), [rows * left.elements])
            regs_a.name_hint = "a_regs"
        regs_b = builder.local_array(element_of(op.rhs), [columns * right.elements])
        regs_b.name_hint = "b_regs"
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
                c = (top, builder.add(column, builder.mul(j, n)))
                builder.insert(
                    MmaSyncOp(
                        self.instruction.name,
                        Element(regs_a, a),
                        Element(regs_b, [b]),
                        Element(op.accumulator, [builder.index(each) for each in c]),
                    )
                )


def check_fragments(op: MatmulOp, instruction: MmaInstruction) -> None:
    """Check that the accumulator of a product consists of fragments, and the depth.

    Raises:
        ScheduleError: it does not, or the instruction does not divide the depth.
    """
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


def group_start(
    builder: KernelBuilder, tasks: TaskMap, worker: SSAValue, group: int
) -> list[Index]:
    """Return the first task of the warp or warp group of a worker, by the threads of one."""
    task: list[Index] = [0] * tasks.rank
    for digit in tasks.spatial_digits:
        inside = max(group // digit.weight, 1)  # of the digit's values, so many are one group's
        if inside < digit.extent:
            number = builder.div(worker, digit.weight * inside)
            if digit.weight * digit.extent < tasks.workers:
                number = builder.mod(number, digit.extent // inside)
            start = builder.mul(number, digit.stride * inside)
            task[digit.dim] = builder.add(task[digit.dim], start)
    return task


def groups_along(tasks: TaskMap, dim: int, group: int) -> int:
    """Return how many warps or warp groups share a dimension of a tile."""
    digits = [digit for digit in tasks.spatial_digits if digit.dim == dim]
    return prod(max(d.extent // max(group // d.weight, 1), 1) for d in digits)


@dataclass
class _Operand:
    """A factor of a product in shared memory, and how its fragments are loaded.

    Attributes:
        builder: where to build.
        tile: the tile.
        stage: its leading offsets.
        depth: its dimension of k; the other one is called its side.
        fragment: the extents of a fragment along side and k.
        lane: the lane of the warp.
    """

    builder: KernelBuilder
    tile: SSAValue
    stage: Sequence[SSAValue]
    depth: int
    fragment: tuple[int, int]
    lane: Index

    @property
    def elements(self) -> int:
        """How many elements of a fragment a lane holds."""
        return self.fragment[0] * self.fragment[1] // WARP

    @property
    def _row(self) -> int:
        """The elements of a row of a matrix of `ldmatrix`."""
        return ROW_BYTES // bytes_of(element_of(self.tile))

    def load(
        self, side: Index, k: SSAValue, regs: SSAValue, number: SSAValue, fragments: int = 1
    ) -> None:
        """Load neighbouring fragments, from a place on.

        Args:
            side: the row of the left operand, the column of the right one.
            k: the first k.
            regs: where they go: fragments one after the other.
            number: which of them this is, counted in so many fragments.
            fragments: how many are loaded.
        """
        b, is_left = self.builder, self.depth == 1
        count = fragments * self.elements * bytes_of(element_of(self.tile)) // 4
        lane = b.index(b.mod(b.index(self.lane), 8 * count) if count < 4 else self.lane)
        matrix, line = b.div(lane, 8), b.mod(lane, 8)
        # Matrices of the left operand follow each other along its rows first, as the registers of
        # its fragment do; those of the right operand along k, then fragment by fragment.
        inner, outer = b.mod(matrix, 2), b.div(matrix, 2)
        along_side, along_k = (inner, outer) if is_left else (outer, inner)
        contiguous_k = shared_layout_of(self.tile).contiguous == self.depth
        if contiguous_k:  # a row of a matrix is one of the fragment: elements along k
            at_side = b.add(side, b.add(b.mul(along_side, 8), line))
            at_k = b.add(k, b.mul(along_k, self._row))
        else:  # it is a column, which `ldmatrix` turns
            at_side = b.add(side, b.mul(along_side, self._row))
            at_k = b.add(k, b.add(b.mul(along_k, 8), line))
        place = (at_side, at_k) if is_left else (at_k, at_side)
        source = Element(self.tile, [*self.stage, *map(b.index, place)])
        first = b.index(b.mul(number, fragments * self.elements))
        b.insert(LdmatrixOp(count, source, Element(regs, [first]), trans=not contiguous_k))
        if element_of(self.tile) == f32:
            with b.loop(fragments * self.elements, unroll=True) as each:
                at = [b.index(b.add(first, each))]
                b.store(b.insert(RoundTf32Op(b.load(regs, at))).result, regs, at)
