"""The pass `pipeline-copies`: tiles of later steps are on their way while one is multiplied."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import FixedBitwidthType, ModuleOp, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint

from hidet.analysis.grids import is_view, loads_of
from hidet.analysis.kernels import kernel_of, kernels_of
from hidet.dialects.compute import GridOp
from hidet.dialects.cuda import (
    CpAsyncCommitOp,
    CpAsyncWaitOp,
    FenceProxyAsyncOp,
    SyncThreadsOp,
    WgmmaWaitOp,
)
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.shaped import element_of, is_memref, memref_type
from hidet.dialects.task import CopyOp
from hidet.lowering.task.lower_wgmma import wait_for_products
from hidet.lowering.task.product_loops import ProductLoop, ring_of, stages_of
from hidet.rewriting.builder import Index, KernelBuilder, set_unroll
from hidet.rewriting.locations import location_setter

SMALLEST = 4
"""The bytes of the shortest asynchronous copy (PTX ISA, cp.async)."""

NO_UNROLLING = 1
"""One step at a time: where ptxas (CUDA 13.0) unrolls such a loop four times itself, it may add to
the address of a tile twice, so that the last of the four steps multiplies what lies elsewhere."""


class PipelineLoop(RewritePattern):
    """A loop that copies tiles and multiplies them works on a ring of several tiles.

        for k0 { copy x[k0] to a[]   matmul a }

    becomes, with two of three tiles under way at any time,

        copy x[0] to a[0] async   copy x[1] to a[1] async
        for k0 { wait   sync   copy x[k0 + 2] to a[(k0 + 2) % 3] async   matmul a[k0 % 3] }

    What is copied as it is goes to shared memory on its own (`async`). What has to be computed is
    loaded to registers before the product, and stored to its tile after it.

    Whatever else the loop does stays where it is: attention turns a first product into a factor of
    a second one.

    Where a loop does nothing else, a product that its instruction only begins (`async`) is still
    under way in the next step; its tiles are free one step later, so one tile less is under way:

        for k0 { wait   sync   matmul a[k0 % 3] async   copy x[k0 + 1] to a[(k0 + 1) % 3] async
                 wait for the product of the step before }
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ForOp, rewriter: PatternRewriter) -> None:
        """Rewrite one loop."""
        stages = stages_of(kernel_of(op))
        loop = ProductLoop(op)
        if stages > 1 and loop.feeds_products:
            _Pipeline(loop, stages).build(rewriter)


class _Pipeline:
    """Rewrites one loop.

    Args:
        loop: the loop.
        stages: the number of tiles of each operand.
    """

    def __init__(self, loop: ProductLoop, stages: int) -> None:
        self.loop = loop
        self.stages = stages
        self.is_async = loop.is_one and all(op.can_be_async for op in loop.products)
        self.pending = int(self.is_async and stages > 2)
        self.ahead = stages - 1 - self.pending
        self.rings = {copy.tile: ring_of(copy.tile, stages) for copy in loop.copies}
        self.direct = [copy for copy in loop.copies if can_be_async(copy)]
        self.computed = [copy for copy in loop.copies if not can_be_async(copy)]

    def build(self, rewriter: PatternRewriter) -> None:
        """Build what comes before the loop, in it and after it, in the place of its body."""
        loop, op = self.loop, self.loop.op
        builder = KernelBuilder(InsertPoint.before(op))
        builder.operation_insertion_handler = [location_setter(op.location)]
        if isinstance(op.parent_op(), scf.ForOp):  # others may still multiply what was there
            builder.insert(SyncThreadsOp())
        for copy in self._fetched_once():
            copy.is_async = UnitAttr()  # of the group of the first stage
        steps = [builder.index(builder.add(op.lb, loop.step * n)) for n in range(self.ahead)]
        # As a rule the right factor is a weight: `overlap-launches` waits behind its copies.
        for stage, k in enumerate(steps):
            self._copy(builder, loop.right_copies, k, stage)
        for stage, k in enumerate(steps):
            self._copy(builder, loop.left_copies, k, stage)
            builder.insert(CpAsyncCommitOp())
        set_unroll(op, NO_UNROLLING)
        builder.insertion_point = InsertPoint.at_start(op.body.block)
        self._build_step(builder)
        builder.insertion_point = InsertPoint.after(op)
        builder.insert(CpAsyncWaitOp(0))
        if self.is_async:
            for accumulator in loop.accumulators:
                wait_for_products(builder, accumulator, 0)
        for each in (*loop.copies, *loop.products):
            rewriter.erase(each)
        for tile in self.rings:
            rewriter.erase(cast("Operation", tile.owner))

    def _fetched_once(self) -> Iterator[CopyOp]:
        """Give the copies ahead of the loop to tiles that only its products read."""
        products = self.loop.products
        for tile in {factor for op in products for factor in (op.lhs, op.rhs)}:
            copies = [use.operation for use in tile.uses if use.operation not in products]
            match copies:
                case [CopyOp() as copy] if copy.parent is self.loop.op.parent:
                    if copy.reads and can_be_async(copy):
                        yield copy
                case _:
                    pass

    def _build_step(self, builder: KernelBuilder) -> None:
        """Build the new body of the loop."""
        loop, op, b = self.loop, self.loop.op, builder
        variable = op.body.block.args[0]
        b.insert(CpAsyncWaitOp(self.ahead - 1))
        if self.is_async:
            b.insert(FenceProxyAsyncOp())
        b.insert(SyncThreadsOp())
        number = b.index(b.div(b.index(b.subtract(variable, op.lb)), loop.step))
        now = b.index(b.mod(number, self.stages))
        if self.is_async:
            loop.multiply(b, self.rings, now, is_async=True)
        ahead = b.index(b.add(variable, loop.step * self.ahead))
        free = b.index(b.mod(b.index(b.add(number, self.ahead)), self.stages))
        with b.when(b.less(ahead, op.ub)):
            self._copy(b, self.direct, ahead, free)
        loaded = self._load(b, ahead)
        b.insert(CpAsyncCommitOp())
        if not self.is_async:
            for product in loop.products:  # each stays where it is, among what else the loop does
                b.insertion_point = InsertPoint.before(product)
                loop.multiply_once(b, product, self.rings, now, is_async=False)
            b.insertion_point = InsertPoint.before(cast("Operation", op.body.block.last_op))
        if loaded:
            with b.when(b.less(ahead, op.ub)):
                for registers, copy in zip(loaded, self.computed, strict=True):
                    offsets = [free, b.index(0), b.index(0)]
                    b.insert(CopyOp(registers, [], self.rings[copy.tile], offsets, copy.worker))
        if self.is_async:
            b.insert(WgmmaWaitOp(loop.groups(self.pending)))

    def _copy(
        self, builder: KernelBuilder, copies: Sequence[CopyOp], k: SSAValue, stage: Index
    ) -> None:
        """Copy the tiles of a step of k to those of a stage."""
        values = self.loop.at(builder, k)
        for op in copies:
            offsets = [values.get(offset, offset) for offset in op.source_offsets]
            place = [builder.index(stage)]
            copy = CopyOp(op.source, offsets, self.rings[op.tile], place, op.worker, op.map)
            copy.is_async = UnitAttr() if op in self.direct else None
            builder.insert(copy)

    def _load(self, builder: KernelBuilder, k: SSAValue) -> list[SSAValue]:
        """Load the computed tiles of a step of k to registers; return these."""
        found = [builder.register_tile(element_of(op.tile), op.tasks) for op in self.computed]
        if found:
            with builder.when(builder.less(k, self.loop.op.ub)):
                values = self.loop.at(builder, k)
                for registers, op in zip(found, self.computed, strict=True):
                    offsets = [values.get(offset, offset) for offset in op.source_offsets]
                    builder.insert(CopyOp(op.source, offsets, registers, [], op.worker))
        return found


def can_be_async(op: CopyOp) -> bool:
    """Return whether a copy moves what is in global memory as it is, in runs of 4 bytes or more.

    Zeros around an image do not lie there: threads store them to the tile where they are due.
    """
    kind = element_of(op.source)
    bits = kind.bitwidth if isinstance(kind, FixedBitwidthType) else 0
    last = op.tasks.repeat_digits[-1:]
    run = last[0].extent if last and last[0].stride == 1 and last[0].weight == 1 else 1
    return run * bits >= SMALLEST * 8 and _is_moved(op.source)


def _is_moved(source: SSAValue) -> bool:
    """Return whether elements of a view are elements of a buffer, or a constant in their place."""
    if is_memref(source.type):
        return space_of(memref_type(source)) is Space.GLOBAL
    grid = source.owner
    return (
        isinstance(grid, GridOp)
        and is_view(grid)
        and all(load.result.type == element_of(source) for load in loads_of(grid))
        and all(_is_moved(load.source) for load in loads_of(grid))
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
