"""The pass `map-tensor-cores`: selects matmul instructions and tile layouts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefLayoutAttr, MemRefType, NoneAttr, StringAttr
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import Rewriter

from hidet.analysis.contiguity import contiguous_run
from hidet.analysis.kernels import kernel_of
from hidet.arch.instructions import FMA, MmaInstruction
from hidet.arch.limits import WARP_GROUP
from hidet.arch.products import product_named
from hidet.dialects.cuda import KernelOp, Space, space_of
from hidet.dialects.shaped import bytes_of, memref_type, shape_of
from hidet.dialects.task import CopyOp, ForeachOp, MatmulOp, SharedLayoutAttr, TaskMapAttr
from hidet.dialects.task.layout import SWIZZLES, SharedLayout
from hidet.dialects.walking import ops_in
from hidet.errors import ScheduleError
from hidet.lowering.single_walk import rewrite_once
from hidet.lowering.templates.config import BLOCKED, STRIPED, VECTOR, choices_of
from hidet.mapping import TaskMap, repeat, spatial
from hidet.rewriting.kernel_pass import KernelPass


@dataclass(frozen=True)
class Workers:
    """How the config of a kernel distributes its matmul.

    `instruction` is `fma`, or a name that `hidet.arch.products.find_product` knows; `rows` and
    `columns` count the workers along M and N: threads, warps or warp groups.
    """

    instruction: str
    rows: int
    columns: int
    arrangement: str | int

    @classmethod
    def of(cls, kernel: KernelOp) -> Workers:
        """Read the config of a kernel."""
        choices = choices_of(kernel)
        match [choices.get(key) for key in ("instruction", "rows", "columns")]:
            case [str() as name, int() as rows, int() as columns] if rows and columns:
                return cls(name, rows, columns, choices.get("arrangement", BLOCKED))
            case _:
                raise ScheduleError(
                    f"the matmul of @{kernel.sym_name.data} has no instruction",
                    hint="its config says instruction, rows and columns, or its tile has a map",
                )

    def repeats(self, shape: tuple[int, int], inner: TaskMap) -> tuple[int, int]:
        """Return how often a worker repeats an inner map along the rows and columns of a tile."""
        rows, row_rest = divmod(shape[0], self.rows * inner.shape[0])
        columns, column_rest = divmod(shape[1], self.columns * inner.shape[1])
        if row_rest or column_rest:
            raise ScheduleError(
                f"a tile of {shape[0]}x{shape[1]} cannot be divided among "
                f"{self.rows}x{self.columns} workers of {self.instruction}"
            )
        return rows, columns


def map_matmul(op: MatmulOp, rewriter: PatternRewriter) -> None:
    """A matmul whose accumulator has the map `?` gets the instruction named by the config.

    Shared tiles get a layout with the contiguous dimension of their source and the largest swizzle
    that divides a row.
    """
    result = memref_type(op.accumulator)
    if not isinstance(result.layout, TaskMapAttr) or result.layout.data is not None:
        return
    workers = Workers.of(kernel_of(op))
    rows, columns = result.get_shape()
    if workers.instruction == FMA:
        tasks = _map_fma(op, workers, (rows, columns))
    else:
        tasks = _map_tensor_cores(op, workers, (rows, columns))
    _set_layout(op.accumulator, TaskMapAttr(tasks))


def _map_fma(op: MatmulOp, workers: Workers, shape: tuple[int, int]) -> TaskMap:
    """Set the layouts of the operand tiles of a matmul by FMA; return the accumulator map.

    Unless the arrangement is blocked, threads read vectors from shared memory, along k or along M
    or N, and adjacent threads read adjacent vectors, which avoids bank conflicts.
    """
    whole = workers.repeats(shape, spatial(1, 1))
    if workers.arrangement == BLOCKED:
        return spatial(workers.rows, workers.columns) * repeat(*whole)
    vector = [1, 1]
    for side, (tile, depth) in enumerate(((op.lhs, 1), (op.rhs, op.rhs_depth))):
        is_along_k = _contiguous_dim(tile) == depth
        if is_along_k and workers.arrangement == STRIPED:
            layout = _swizzled(tile, depth)
        else:
            layout = SharedLayout(1 - depth, padding=VECTOR if is_along_k else 0)
            vector[side] = gcd(whole[side], VECTOR // bytes_of(memref_type(tile).element_type))
        _set_layout(tile, SharedLayoutAttr(layout))
    outer = (extent // part for extent, part in zip(whole, vector, strict=True))
    return repeat(*outer) * _threads(workers) * repeat(*vector)


def _threads(workers: Workers) -> TaskMap:
    """Return the map of threads, in warps of 4x8 lanes if these divide the rows and columns.

    A 128-bit load takes a single pass per half warp if it has 128 bytes of distinct vectors, and
    each lane has the vector of the adjacent or the second next lane. So lanes go down two rows,
    then along the columns.
    """
    lanes = spatial(2, 1) * spatial(1, 8) * spatial(2, 1)
    rows, row_rest = divmod(workers.rows, lanes.shape[0])
    columns, column_rest = divmod(workers.columns, lanes.shape[1])
    if row_rest or column_rest:
        return spatial(workers.rows, workers.columns)
    return spatial(rows, columns) * lanes


def _map_tensor_cores(op: MatmulOp, workers: Workers, shape: tuple[int, int]) -> TaskMap:
    """Set the instruction and the operand layouts of a matmul; return the accumulator map."""
    instruction = _no_wider(product_named(workers.instruction), shape[1] // workers.columns)
    inner = instruction.accumulator
    repeats = workers.repeats(shape, inner)
    op.via = StringAttr(instruction.name)
    side_m, side_n, _ = instruction.shape
    for tile, depth, side in ((op.lhs, 1, side_m), (op.rhs, op.rhs_depth, side_n)):
        if space_of(memref_type(tile)) is Space.REGISTER:  # the accumulator of a previous matmul
            rows, length = memref_type(tile).get_shape()
            own = _no_wider(product_named(workers.instruction), length).accumulator
            sums = replace(workers, columns=1).repeats((rows, length), own)
            tasks = spatial(workers.rows, 1) * repeat(*sums) * own
            _set_layout(tile, TaskMapAttr(tasks))
            continue
        # ldmatrix and wgmma transpose elements of two bytes only.
        is_short = bytes_of(memref_type(tile).element_type) == 2
        contiguous = _contiguous_dim(tile) if is_short else depth
        # wgmma takes whole panels.
        unit = side if op.can_be_async and contiguous != depth else 0
        _set_layout(tile, SharedLayoutAttr(_swizzled(tile, contiguous, unit)))
    return spatial(workers.rows, workers.columns) * repeat(*repeats) * inner


def map_rows(op: ForeachOp, rewriter: PatternRewriter) -> None:
    """A tile with the map `?` indexed by the rows of another tile gets the map of their owners."""
    if op.tile is None or memref_type(op.tile).layout == TaskMapAttr(None):
        return
    row, *others = op.indices
    owners = TaskMapAttr(op.tasks.project(range(1, 1 + len(others))))
    for access in ops_in(op.body):
        if isinstance(access, memref.LoadOp) and [*access.indices] == [row]:
            _set_layout(access.memref, owners)


def _no_wider(instruction: MmaInstruction, columns: int) -> MmaInstruction:
    """Return an instruction, for wgmma the variant no wider than a tile."""
    rows, width, depth = instruction.shape
    if instruction.group != WARP_GROUP or width <= columns:
        return instruction
    own, other = f"m{rows}n{width}k{depth}", f"m{rows}n{columns}k{depth}"
    return product_named(instruction.name.replace(own, other))


def _contiguous_dim(tile: SSAValue) -> int:
    for use in tile.uses:
        if isinstance(use.operation, CopyOp):
            rank = len(shape_of(use.operation.other))
            return contiguous_run(use.operation.other, (rank - 2, rank - 1)).dim - (rank - 2)
    return 1


def _swizzled(tile: SSAValue, contiguous: int, unit: int = 0) -> SharedLayout:
    """Return the layout of a tile with the largest swizzle that divides its rows, and a unit."""
    kind = memref_type(tile)
    row = gcd(kind.get_shape()[contiguous - 2], unit) * bytes_of(kind.element_type)
    return SharedLayout(contiguous, max(size for size in SWIZZLES if size == 0 or row % size == 0))


def _set_layout(tile: SSAValue, layout: MemRefLayoutAttr) -> None:
    kind = memref_type(tile)
    if isinstance(kind.layout, NoneAttr) or kind.layout == TaskMapAttr(None):
        new = MemRefType(kind.element_type, kind.get_shape(), layout, kind.memory_space)
        Rewriter.replace_value_with_new_type(tile, new)


class MapTensorCoresPass(KernelPass):
    """Select instructions and tile layouts for matmuls.

    Expects kernels of task ops on views, whose `config` names the instruction and the number of
    workers along M and N. Leaves no register tile with the map `?`: matmuls on tensor cores name
    their instruction, `via "m16n8k16_f16_f32"`, row statistics are owned by the owners of the row,
    and shared tiles have a layout, swizzled to avoid bank conflicts. Kernels whose maps are known
    are left alone.
    """

    name = "map-tensor-cores"

    def run(self, kernel: KernelOp) -> None:
        """Map the matmuls of one kernel."""
        rewrite_once(kernel.body, {MatmulOp: map_matmul})
        rewrite_once(kernel.body, {ForeachOp: map_rows})
