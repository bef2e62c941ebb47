"""The pass `stage-epilogue`: results go through shared memory, and from there by TMA."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp, UnitAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint

from hidet.analysis.kernels import kernel_of, kernels_of
from hidet.analysis.windows import sink_window
from hidet.arch.chips import Arch
from hidet.arch.hopper import TMA_STORE
from hidet.arch.limits import WARP_GROUP
from hidet.dialects.compute import SinkOp, StoreOp
from hidet.dialects.cuda import BarrierSyncOp, FenceProxyAsyncOp, TmaCommitOp, TmaWaitOp
from hidet.dialects.cuda.attributes import Space, SpaceAttr, space_of
from hidet.dialects.cuda.table_ops import Element
from hidet.dialects.shaped import bytes_of, element_of, is_memref, memref_type, shape_of
from hidet.dialects.task import CopyOp
from hidet.dialects.task.layout import SWIZZLES, SharedLayout, SharedLayoutAttr, map_of
from hidet.dialects.task.marks import RING
from hidet.lowering.task.lower_mma import group_start, groups_along
from hidet.lowering.task.tma_copies import TmaWindow
from hidet.lowering.templates.blocking import STAGED
from hidet.lowering.templates.config import choices_of
from hidet.mapping import TaskMap
from hidet.rewriting.builder import KernelBuilder
from hidet.rewriting.locations import location_setter


class StageCopy(RewritePattern):
    """A copy of a register tile to a sink with one output goes through a shared tile.

    The sink's body computes what is stored, into the shared tile. Each warp group stores its own
    rectangle, and waits for itself alone: one of its threads asks TMA to copy that, and waits for
    it only before the tile is written again, and at the end of the kernel.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CopyOp, rewriter: PatternRewriter) -> None:
        """Rewrite one copy."""
        sink = op.target.owner
        if not _is_register(op.source) or not isinstance(sink, SinkOp):
            return
        found, part = sink_window(sink), _part_of(map_of(op.source.type))
        if found is None or part is None:
            return
        store, window = found
        outer = KernelBuilder(InsertPoint.at_start(kernel_of(op).body.block))
        tile = _allocate(outer, part, element_of(store.target))
        tma = TmaWindow.of(window, shape_of(op.target), tile)
        if tma is None:
            rewriter.erase(cast("Operation", tile.owner))
            return
        builder = KernelBuilder(InsertPoint.before(op))
        builder.operation_insertion_handler = [location_setter(op.location)]
        group = builder.index(builder.div(op.worker, WARP_GROUP))
        around = op.parent_op()
        if isinstance(around, scf.ForOp):
            with builder.when(_is_first(builder, op)):
                builder.insert(TmaWaitOp(0))
            _meet(builder, group)
        first = group_start(builder, map_of(op.source.type), op.worker, WARP_GROUP)
        offsets = list(op.target_offsets)
        offsets[-2:] = map(builder.index, map(builder.add, offsets[-2:], first))
        local = _local_sink(builder, op, sink, store, Element(tile, [group]))
        builder.insert(CopyOp(op.source, [], local, op.target_offsets, op.worker))
        builder.insert(FenceProxyAsyncOp())
        _meet(builder, group)
        with builder.when(_is_first(builder, op)):
            tensor_map = tma.build_map(builder)
            tma.build_stores(builder, tensor_map, offsets, Element(tile, [group]))
            builder.insert(TmaCommitOp())
        if isinstance(around, scf.ForOp):
            builder.insertion_point = InsertPoint.after(around)
        with builder.when(_is_first(builder, op)):
            builder.insert(TmaWaitOp(0))
        rewriter.erase(op)


def _is_first(builder: KernelBuilder, op: CopyOp) -> SSAValue:
    """Return whether a thread is the first one of its warp group."""
    return builder.equal(builder.mod(op.worker, WARP_GROUP), 0)


def _meet(builder: KernelBuilder, group: SSAValue) -> None:
    """Have the threads of a warp group wait for each other, at one of the barriers from 1 on."""
    number = builder.insert(arith.IndexCastOp(builder.index(builder.add(group, 1)), i32)).result
    builder.insert(BarrierSyncOp(number, WARP_GROUP))


def _part_of(tasks: TaskMap) -> tuple[int, int, int] | None:
    """Return how many warp groups share a tile, and the rectangle of each; None if it has none."""
    if tasks.workers % WARP_GROUP or tasks.rank != 2 or tasks.replicate_digits:
        return None
    counts = [groups_along(tasks, dim, WARP_GROUP) for dim in (0, 1)]
    for digit in tasks.spatial_digits:
        splits = max(WARP_GROUP // digit.weight, 1) < digit.extent
        if splits and digit.stride * digit.extent != tasks.shape[digit.dim]:
            return None
    rows, columns = (extent // count for extent, count in zip(tasks.shape, counts, strict=True))
    return prod(counts), rows, columns


def _is_register(value: SSAValue) -> bool:
    """Return whether a value is a tile in registers."""
    return is_memref(value.type) and space_of(memref_type(value)) is Space.REGISTER


def _allocate(builder: KernelBuilder, shape: tuple[int, int, int], element: Attribute) -> SSAValue:
    """Allocate a shared tile for the part of each warp group, with the largest swizzle."""
    row = shape[-1] * bytes_of(element)
    swizzle = max(size for size in SWIZZLES if size == 0 or row % size == 0)
    layout = SharedLayoutAttr(SharedLayout(1, swizzle))
    tile = builder.allocate(MemRefType(element, shape, layout, SpaceAttr(Space.SHARED)))
    tile.name_hint = "staged"
    cast("Operation", tile.owner).attributes[RING] = UnitAttr()
    return tile


def _local_sink(
    builder: KernelBuilder, op: CopyOp, sink: SinkOp, store: StoreOp, part: Element
) -> SSAValue:
    """Build a sink that stores to a part of the tile what another one stores to its buffer."""
    local = sink.clone()
    builder.insert(local)
    (inner,) = (each for each in local.body.block.ops if isinstance(each, StoreOp))
    inside = KernelBuilder(InsertPoint.before(inner))
    place = [*part.indices]
    for index, first, extent in zip(
        local.indices[-2:], op.target_offsets[-2:], shape_of(part.memref)[-2:], strict=True
    ):
        of_tile = inside.index(inside.subtract(index, first))
        place.append(inside.index(inside.mod(of_tile, extent)))
    inside.insert(StoreOp(inner.value, part.memref, place))
    inner.detach()
    inner.erase()
    return local.result


@dataclass(frozen=True)
class StageEpiloguePass(ModulePass):
    """Store results by TMA, where the kernel's config says `epilogue = "staged"`.

    Expects kernels of task ops on views. Rewrites copies of register tiles to sinks that store one
    value each, to elements of a buffer that TMA can reach, and of which each warp group has a
    rectangle: they get a shared tile, and are followed by what one thread of each warp group asks
    of TMA. The barriers are there, `insert-barriers` leaves the tile alone. Other copies, kernels
    and machines without TMA are left alone.
    """

    name = "stage-epilogue"

    arch: str = "sm_90a"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Stage the epilogues of every kernel of the module."""
        if not TMA_STORE[2].runs_on(Arch.parse(self.arch)):
            return
        for kernel in kernels_of(op):
            if choices_of(kernel).get("epilogue") == STAGED:
                walker = PatternRewriteWalker(StageCopy(), apply_recursively=False)
                walker.rewrite_region(kernel.body)
