"""The pass `stage-epilogue`: results go through shared memory, and from there by TMA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp
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
from hidet.dialects.compute import SinkOp, StoreOp
from hidet.dialects.cuda import FenceProxyAsyncOp, TmaCommitOp, TmaWaitOp
from hidet.dialects.cuda.attributes import Space, SpaceAttr, space_of
from hidet.dialects.cuda.table_ops import Element
from hidet.dialects.shaped import bytes_of, element_of, is_memref, memref_type, shape_of
from hidet.dialects.task import CopyOp
from hidet.dialects.task.layout import SWIZZLES, SharedLayout, SharedLayoutAttr
from hidet.lowering.task.tma_copies import TmaWindow
from hidet.lowering.templates.blocking import STAGED
from hidet.lowering.templates.config import choices_of
from hidet.rewriting.builder import KernelBuilder
from hidet.rewriting.locations import location_setter


class StageCopy(RewritePattern):
    """A copy of a register tile to a sink with one output goes through a shared tile.

    The sink's body computes what is stored, into the shared tile; one thread asks TMA to copy that,
    and waits for it only before the tile is written again, and at the end of the kernel.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CopyOp, rewriter: PatternRewriter) -> None:
        """Rewrite one copy."""
        sink = op.target.owner
        if not _is_register(op.source) or not isinstance(sink, SinkOp):
            return
        found = sink_window(sink)
        if found is None:
            return
        store, window = found
        outer = KernelBuilder(InsertPoint.at_start(kernel_of(op).body.block))
        tile = _allocate(outer, memref_type(op.source), element_of(store.target))
        tma = TmaWindow.of(window, shape_of(op.target), tile)
        if tma is None:
            rewriter.erase(cast("Operation", tile.owner))
            return
        builder = KernelBuilder(InsertPoint.before(op))
        builder.operation_insertion_handler = [location_setter(op.location)]
        is_first = builder.equal(op.worker, 0)
        around = op.parent_op()
        if isinstance(around, scf.ForOp):
            with builder.when(is_first):
                builder.insert(TmaWaitOp(0))
        local = _local_sink(builder, op, sink, store, tile)
        copy = CopyOp(op.source, [], local, op.target_offsets, op.worker)
        builder.insert(copy)
        builder.insert(FenceProxyAsyncOp())
        with builder.when(is_first):
            tensor_map = tma.build_map(builder)
            tma.build_stores(builder, tensor_map, op.target_offsets, Element(tile, []))
            builder.insert(TmaCommitOp())
        if isinstance(around, scf.ForOp):
            builder.insertion_point = InsertPoint.after(around)
            is_first = builder.equal(op.worker, 0)
        with builder.when(is_first):
            builder.insert(TmaWaitOp(0))
        rewriter.erase(op)


def _is_register(value: SSAValue) -> bool:
    """Return whether a value is a tile in registers."""
    return is_memref(value.type) and space_of(memref_type(value)) is Space.REGISTER


def _allocate(builder: KernelBuilder, like: MemRefType[Attribute], element: Attribute) -> SSAValue:
    """Allocate a shared tile of the shape of another one, with the largest swizzle."""
    row = like.get_shape()[-1] * bytes_of(element)
    swizzle = max(size for size in SWIZZLES if size == 0 or row % size == 0)
    layout = SharedLayoutAttr(SharedLayout(1, swizzle))
    tile = builder.allocate(MemRefType(element, like.get_shape(), layout, SpaceAttr(Space.SHARED)))
    tile.name_hint = "staged"
    return tile


def _local_sink(
    builder: KernelBuilder, op: CopyOp, sink: SinkOp, store: StoreOp, tile: SSAValue
) -> SSAValue:
    """Build a sink that stores to the shared tile what another one stores to its buffer."""
    local = sink.clone()
    builder.insert(local)
    (inner,) = (each for each in local.body.block.ops if isinstance(each, StoreOp))
    inside = KernelBuilder(InsertPoint.before(inner))
    rank = len(shape_of(tile))
    places = zip(local.indices[-rank:], op.target_offsets[-rank:], strict=True)
    indices = [inside.insert(arith.SubiOp(index, first)).result for index, first in places]
    inside.insert(StoreOp(inner.value, tile, indices))
    inner.detach()
    inner.erase()
    return local.result


@dataclass(frozen=True)
class StageEpiloguePass(ModulePass):
    """Store results by TMA, where the kernel's config says `epilogue = "staged"`.

    Expects kernels of task ops on views. Rewrites copies of register tiles to sinks that store one
    value each, to elements of a buffer that TMA can reach: they get a shared tile, and are followed
    by what one thread asks of TMA. Other copies, kernels and machines without TMA are left alone.
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
