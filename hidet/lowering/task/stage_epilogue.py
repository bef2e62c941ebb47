"""The pass `stage-epilogue`: stores results through shared memory by TMA."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import MemRefType, UnitAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.analysis.kernels import kernel_of
from hidet.analysis.windows import sink_window
from hidet.arch.chips import Arch
from hidet.arch.hopper import TMA_STORE
from hidet.arch.limits import WARP_GROUP
from hidet.dialects.compute import SinkOp, StoreOp
from hidet.dialects.cuda import BarrierSyncOp, FenceProxyAsyncOp, KernelOp, TmaCommitOp, TmaWaitOp
from hidet.dialects.cuda.attributes import Space, SpaceAttr, space_of
from hidet.dialects.cuda.table_ops import Element
from hidet.dialects.shaped import bytes_of, element_of, is_memref, memref_type, shape_of
from hidet.dialects.task import CopyOp
from hidet.dialects.task.layout import SWIZZLES, SharedLayout, SharedLayoutAttr, map_of
from hidet.dialects.task.marks import RING
from hidet.lowering.single_walk import rewrite_once
from hidet.lowering.task.expand import expand_copy
from hidet.lowering.task.lower_mma import group_start, groups_along
from hidet.lowering.task.matmul_loops import is_pingpong
from hidet.lowering.task.tma_copies import TmaWindow
from hidet.lowering.templates.blocking import CONSUMERS, SLOTS, STAGED, pieces_of
from hidet.lowering.templates.config import choices_of
from hidet.mapping import TaskMap
from hidet.mapping.factors import Factor
from hidet.rewriting.builder import KernelBuilder
from hidet.rewriting.kernel_pass import KernelPass


class StageCopy(RewritePattern):
    """A copy of a register tile to a sink with one output is staged in a shared tile.

    The body of the sink stores to the shared tile. Each warp group stores its own rectangle and
    synchronizes only itself: one of its threads issues the TMA store, and waits for it before the
    tile is reused and at the end of the kernel. A wide rectangle is split into pieces, two of which
    are in shared memory at a time.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CopyOp, rewriter: PatternRewriter) -> None:
        sink = op.target.owner
        if not isinstance(sink, SinkOp) or not is_memref(op.source.type):
            return
        if space_of(memref_type(op.source)) is not Space.REGISTER:
            return
        found, parts = sink_window(sink), _Partition.of(map_of(op.source.type))
        if found is None or parts is None:
            return
        store, window = found
        element = element_of(store.target)
        pieces = parts.pieces(bytes_of(element))
        outer = KernelBuilder(InsertPoint.at_start(kernel_of(op).body.block))
        consumers = CONSUMERS if is_pingpong(kernel_of(op)) else 1
        tile = _allocate(outer, parts, consumers, len(pieces), element)
        tma = TmaWindow.of(window, shape_of(op.target), tile)
        if tma is None:
            rewriter.erase(cast("Operation", tile.owner))
            return
        builder = KernelBuilder(InsertPoint.before(op))
        group = builder.index(builder.div(op.worker, WARP_GROUP))
        first = group_start(builder, parts.tasks, op.worker, WARP_GROUP)
        is_first, tensor_map = _is_first(builder, op), tma.build_map(builder)
        is_again, slots = isinstance(op.parent_op(), scf.ForOp), shape_of(tile)[1]
        for number, piece in enumerate(pieces):
            place = Element(tile, [group, builder.index(number % slots)])
            if is_again or number >= slots:
                with builder.when(is_first):
                    builder.insert(TmaWaitOp(slots - 1))
                _sync_group(builder, group)
            start = number * shape_of(tile)[-1]
            local = _local_sink(builder, op, sink, store, place)
            copy = builder.insert(CopyOp(op.source, [], local, op.target_offsets, op.worker))
            expand_copy(copy, piece, start)
            rewriter.erase(copy)
            builder.insert(FenceProxyAsyncOp())
            _sync_group(builder, group)
            with builder.when(is_first):
                offsets, within = [*op.target_offsets], (first[0], builder.add(first[1], start))
                offsets[-2:] = map(builder.index, map(builder.add, offsets[-2:], within))
                tma.build_stores(builder, tensor_map, offsets, place)
                builder.insert(TmaCommitOp())
        if is_again:
            builder.insertion_point = InsertPoint.after(cast("Operation", op.parent_op()))
        with builder.when(_is_first(builder, op)):
            builder.insert(TmaWaitOp(0))
        rewriter.erase(op)
        if sink.result.first_use is None:
            rewriter.erase(sink)


def _is_first(builder: KernelBuilder, op: CopyOp) -> SSAValue:
    return builder.equal(builder.mod(op.worker, WARP_GROUP), 0)


def _sync_group(builder: KernelBuilder, group: SSAValue) -> None:
    """Insert the named barrier of a warp group."""
    number = builder.insert(arith.IndexCastOp(builder.index(builder.add(group, 1)), i32)).result
    builder.insert(BarrierSyncOp(number, WARP_GROUP))


@dataclass(frozen=True)
class _Partition:
    """The rectangles of a tile that warp groups own."""

    tasks: TaskMap
    groups: int
    rows: int
    columns: int

    @staticmethod
    def of(tasks: TaskMap) -> _Partition | None:
        """Return the partition of a tile, None if warp groups do not own rectangles."""
        if tasks.workers % WARP_GROUP or tasks.rank != 2 or tasks.replicate_digits:
            return None
        counts = [groups_along(tasks, dim, WARP_GROUP) for dim in (0, 1)]
        for digit in tasks.spatial_digits:
            splits = max(WARP_GROUP // digit.weight, 1) < digit.extent
            if splits and digit.stride * digit.extent != tasks.shape[digit.dim]:
                return None
        rows, columns = (extent // each for extent, each in zip(tasks.shape, counts, strict=True))
        return _Partition(tasks, prod(counts), rows, columns)

    def pieces(self, element_bytes: int) -> list[TaskMap]:
        """Return the map of each piece of the columns, or of all columns.

        There are several if all groups own all columns, in consecutive registers.
        """
        count = pieces_of(self.columns, element_bytes)
        number, factor = next(each for each in enumerate(self.tasks.factors) if each[1].dims[1] > 1)
        if factor.kind != "repeat" or factor.dims[1] % count:
            return [self.tasks]
        piece = Factor("repeat", (factor.dims[0], factor.dims[1] // count))
        factors = self.tasks.factors
        return [TaskMap((*factors[:number], piece, *factors[number + 1 :]))] * count


def _allocate(
    builder: KernelBuilder, parts: _Partition, consumers: int, pieces: int, element: Attribute
) -> SSAValue:
    """Allocate a shared tile for one or two pieces of each warp group, with the largest swizzle."""
    columns = parts.columns // pieces
    row = columns * bytes_of(element)
    swizzle = max(size for size in SWIZZLES if size == 0 or row % size == 0)
    layout = SharedLayoutAttr(SharedLayout(1, swizzle))
    shape = [parts.groups * consumers, min(pieces, SLOTS), parts.rows, columns]
    tile = builder.allocate(MemRefType(element, shape, layout, SpaceAttr(Space.SHARED)))
    tile.name_hint = "staged"
    cast("Operation", tile.owner).attributes[RING] = UnitAttr()
    return tile


def _local_sink(
    builder: KernelBuilder, op: CopyOp, sink: SinkOp, store: StoreOp, part: Element
) -> SSAValue:
    """Build a copy of a sink that stores to a slot of the shared tile instead of its buffer."""
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
    Rewriter.erase_op(inner)
    return local.result


@dataclass(frozen=True)
class StageEpiloguePass(KernelPass):
    """Store results by TMA if the kernel's config has `epilogue = "staged"`.

    Expects kernels of task ops on views. Matches copies of register tiles to sinks that store one
    value each, to a buffer that TMA can access, if each warp group owns a rectangle of the tile.
    Leaves a shared tile with its barriers, which `insert-barriers` ignores, and TMA stores issued
    by one thread per warp group. Other copies, kernels and architectures without TMA are left
    alone.
    """

    name = "stage-epilogue"

    arch: str = "sm_90a"

    def run(self, kernel: KernelOp) -> None:
        """Stage the epilogue of one kernel."""
        has_tma = TMA_STORE[2].runs_on(Arch.parse(self.arch))
        if has_tma and choices_of(kernel).get("epilogue") == STAGED:
            rewrite_once(kernel.body, {CopyOp: StageCopy()})
