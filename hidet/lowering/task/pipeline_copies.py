"""The pass `pipeline-copies`: tiles of later steps are on their way while one is multiplied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import (
    DictionaryAttr,
    FixedBitwidthType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    UnitAttr,
)
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint

from hidet.analysis.kernels import kernel_of, kernels_of
from hidet.analysis.memory import is_arithmetic
from hidet.dialects.compute import GridOp, LoadOp, YieldOp
from hidet.dialects.cuda import (
    CpAsyncCommitOp,
    CpAsyncWaitOp,
    FenceProxyAsyncOp,
    KernelOp,
    SyncThreadsOp,
    WgmmaWaitOp,
)
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.table_ops import known_index
from hidet.dialects.shaped import element_of, is_memref, memref_type
from hidet.dialects.task import CopyOp, MatmulOp
from hidet.dialects.task.marks import RING
from hidet.lowering.task.lower_wgmma import wait_for_products
from hidet.rewriting.builder import Index, KernelBuilder
from hidet.rewriting.locations import location_setter

SMALLEST = 4
"""The bytes of the shortest asynchronous copy (PTX ISA, cp.async)."""


def stages_of(kernel: KernelOp) -> int:
    """Return how many tiles a kernel has of each operand, as its config says; else 1."""
    config = kernel.attributes.get("config")
    stages = config.data.get("stages") if isinstance(config, DictionaryAttr) else None
    return stages.value.data if isinstance(stages, IntegerAttr) else 1


class PipelineLoop(RewritePattern):
    """A loop that copies tiles and multiplies them works on a ring of several tiles.

        for k0 { copy x[k0] to a[]   matmul a }

    becomes, with two of three tiles under way at any time,

        copy x[0] to a[0] async   copy x[1] to a[1] async
        for k0 { wait   sync   copy x[k0 + 2] to a[(k0 + 2) % 3] async   matmul a[k0 % 3] }

    What is copied as it is goes to shared memory on its own (`async`). What has to be computed is
    loaded to registers before the product, and stored to its tile after it.

    A product that its instruction only begins (`async`) is still under way in the next step; its
    tiles are free one step later, so one tile less is under way:

        for k0 { wait   sync   matmul a[k0 % 3] async   copy x[k0 + 1] to a[(k0 + 1) % 3] async
                 wait for the product of the step before }
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ForOp, rewriter: PatternRewriter) -> None:
        """Rewrite one loop."""
        stages = stages_of(kernel_of(op))
        if stages > 1 and not op.iter_args and _feeds_product(op):
            _Ring(op, stages).build(rewriter)


def _feeds_product(loop: scf.ForOp) -> bool:
    """Return whether a loop consists of copies into tiles of its own, and products of these."""
    body = [op for op in loop.body.block.ops if not isinstance(op, scf.YieldOp)]
    copies = [op for op in body if isinstance(op, CopyOp)]
    products = [op for op in body if isinstance(op, MatmulOp)]
    others = [op for op in body if not isinstance(op, CopyOp | MatmulOp)]
    tiles = {copy.tile for copy in copies}
    factors = {factor for each in products for factor in (each.lhs, each.rhs)}
    return (
        bool(products)
        and known_index(loop.step) is not None
        and tiles == factors
        and len(tiles) == len(copies)
        and all(map(is_arithmetic, others))
        and all(isinstance(tile.owner, memref.AllocaOp) for tile in tiles)
        and all(use.operation.parent is loop.body.block for tile in tiles for use in tile.uses)
        and all(copy.reads and not copy.tile_offsets for copy in copies)
    )


@dataclass
class _Ring:
    """Rewrites one loop.

    Attributes:
        loop: the loop.
        stages: the number of tiles of each operand.
    """

    loop: scf.ForOp
    stages: int

    def __post_init__(self) -> None:
        body = self.loop.body.block
        self.offsets = [op for op in body.ops if is_arithmetic(op)]
        self.products = [op for op in body.ops if isinstance(op, MatmulOp)]
        self.is_async = all(op.can_be_async for op in self.products)
        self.pending = int(self.is_async and self.stages > 2)
        self.ahead = self.stages - 1 - self.pending
        step = known_index(self.loop.step)
        assert step is not None, "the loop has a known step"
        self.step = step

    def build(self, rewriter: PatternRewriter) -> None:
        """Build what takes the place of the loop."""
        loop = self.loop
        builder = KernelBuilder(InsertPoint.before(loop))
        builder.operation_insertion_handler = [location_setter(loop.location)]
        copies = [op for op in loop.body.block.ops if isinstance(op, CopyOp)]
        width = self.step
        tiles = {copy.tile: self._ring_of(builder, copy.tile) for copy in copies}
        for stage in range(self.ahead):
            k = builder.add(loop.lb, width * stage)
            self._copy(builder, copies, tiles, builder.index(k), stage)
            builder.insert(CpAsyncCommitOp())
        body = loop.body.block
        variable = body.args[0]
        first = body.first_op
        assert first is not None, "a loop ends in scf.yield"
        inner = KernelBuilder(InsertPoint.before(first))
        inner.operation_insertion_handler = [location_setter(loop.location)]
        inner.insert(CpAsyncWaitOp(self.ahead - 1))
        if self.is_async:
            inner.insert(FenceProxyAsyncOp())
        inner.insert(SyncThreadsOp())
        number = inner.index(inner.div(inner.index(inner.subtract(variable, loop.lb)), width))
        now = inner.index(inner.mod(number, self.stages))
        if self.is_async:
            self._multiply(rewriter, inner, tiles, now)
        ahead = inner.index(inner.add(variable, width * self.ahead))
        free = inner.mod(inner.index(inner.add(number, self.ahead)), self.stages)
        with inner.when(inner.less(ahead, loop.ub)):
            direct = [copy for copy in copies if can_be_async(copy)]
            self._copy(inner, direct, tiles, ahead, free)
        staged = self._load(inner, [copy for copy in copies if copy not in direct], ahead)
        inner.insert(CpAsyncCommitOp())
        if not self.is_async:
            self._multiply(rewriter, inner, tiles, now)
        if staged:
            with inner.when(inner.less(ahead, loop.ub)):
                for registers, copy in staged:
                    offsets = [inner.index(free), inner.index(0), inner.index(0)]
                    inner.insert(CopyOp(registers, [], tiles[copy.tile], offsets, copy.worker))
        if self.is_async:
            inner.insert(WgmmaWaitOp(self.pending))
        for copy in copies:
            rewriter.erase(copy)
        for tile in tiles:
            rewriter.erase(cast("Operation", tile.owner))
        builder.insertion_point = InsertPoint.after(loop)
        builder.insert(CpAsyncWaitOp(0))
        if self.is_async:
            for accumulator in dict.fromkeys(op.accumulator for op in self.products):
                wait_for_products(builder, accumulator, 0)

    def _multiply(
        self,
        rewriter: PatternRewriter,
        builder: KernelBuilder,
        tiles: dict[SSAValue, SSAValue],
        stage: SSAValue,
    ) -> None:
        """Multiply the tiles of a stage."""
        for op in self.products:
            builder.insert(
                MatmulOp(
                    tiles[op.lhs],
                    tiles[op.rhs],
                    op.accumulator,
                    op.worker,
                    lhs_offsets=[stage],
                    rhs_offsets=[stage],
                    via=None if op.via is None else op.via.data,
                    is_async=self.is_async,
                )
            )
            rewriter.erase(op)

    def _ring_of(self, builder: KernelBuilder, tile: SSAValue) -> SSAValue:
        """Allocate the tiles of all stages in the place of one."""
        kind = memref_type(tile)
        shape = [self.stages, *kind.get_shape()]
        outer = KernelBuilder(InsertPoint.before(cast("Operation", tile.owner)))
        ring = outer.allocate(MemRefType(kind.element_type, shape, kind.layout, kind.memory_space))
        ring.name_hint = tile.name_hint
        cast("Operation", ring.owner).attributes[RING] = UnitAttr()
        return ring

    def _copy(
        self,
        builder: KernelBuilder,
        copies: Sequence[CopyOp],
        tiles: dict[SSAValue, SSAValue],
        k: SSAValue,
        stage: Index,
    ) -> None:
        """Copy the tiles of a step of k to those of a stage."""
        values = self._at(builder, k)
        for op in copies:
            offsets = [values.get(offset, offset) for offset in op.source_offsets]
            place = [builder.index(stage)]
            copy = CopyOp(op.source, offsets, tiles[op.tile], place, op.worker, op.map)
            copy.is_async = UnitAttr() if can_be_async(op) else None
            builder.insert(copy)

    def _load(
        self, builder: KernelBuilder, copies: Sequence[CopyOp], k: SSAValue
    ) -> list[tuple[SSAValue, CopyOp]]:
        """Load the tiles of a step of k to registers; return these, each with its copy."""
        found = [(builder.register_tile(element_of(op.tile), op.tasks), op) for op in copies]
        if found:
            with builder.when(builder.less(k, self.loop.ub)):
                values = self._at(builder, k)
                for registers, op in found:
                    offsets = [values.get(offset, offset) for offset in op.source_offsets]
                    builder.insert(CopyOp(op.source, offsets, registers, [], op.worker))
        return found

    def _at(self, builder: KernelBuilder, k: SSAValue) -> dict[SSAValue, SSAValue]:
        """Compute the offsets of a step of k; return what has which value there."""
        values: dict[SSAValue, SSAValue] = {self.loop.body.block.args[0]: k}
        for op in self.offsets:
            builder.insert(op.clone(values))
        return values


def can_be_async(op: CopyOp) -> bool:
    """Return whether a copy moves what is in global memory as it is, in runs of 4 bytes or more."""
    kind = element_of(op.source)
    bits = kind.bitwidth if isinstance(kind, FixedBitwidthType) else 0
    last = op.tasks.repeat_digits[-1:]
    run = last[0].extent if last and last[0].stride == 1 and last[0].weight == 1 else 1
    return run * bits >= SMALLEST * 8 and _is_window(op.source)


def _is_window(source: SSAValue) -> bool:
    """Return whether elements of a view are elements of a buffer, with nothing done to them."""
    if is_memref(source.type):
        return space_of(memref_type(source)) is Space.GLOBAL
    grid = source.owner
    if not isinstance(grid, GridOp):
        return False
    loads = [op for op in grid.body.block.ops if isinstance(op, LoadOp)]
    others = [op for op in grid.body.block.ops if not isinstance(op, LoadOp | YieldOp)]
    return (
        len(loads) == 1
        and grid.yielded is loads[0].result
        and all(is_arithmetic(op) for op in others)
        and _is_window(loads[0].source)
    )


@dataclass(frozen=True)
class PipelineCopiesPass(ModulePass):
    """Give loops that copy tiles and multiply them a ring of tiles, and copies ahead of time.

    Expects kernels of task ops on views with known maps, whose `config` says the `stages`; leaves
    kernels with one stage alone. Rings have their waits and barriers: `insert-barriers` leaves
    their tiles alone.
    """

    name = "pipeline-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Pipeline the loops of every kernel of the module."""
        for kernel in kernels_of(op):
            PatternRewriteWalker(PipelineLoop(), apply_recursively=False).rewrite_region(
                kernel.body
            )
