"""The pass `stage-epilogue`: stores results through shared memory, and loads residuals by TMA."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, MemRefType, TensorType, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.analysis.kernels import kernel_of
from hidet.analysis.windows import Window, sink_windows, windows_read
from hidet.arch.chips import Arch
from hidet.arch.hopper import TMA_STORE
from hidet.arch.limits import WARP, WARP_GROUP
from hidet.dialects import cuda
from hidet.dialects.compute import LoadOp, SinkOp, StoreOp
from hidet.dialects.cuda.attributes import Space, SpaceAttr, space_of
from hidet.dialects.cuda.table_ops import Element
from hidet.dialects.shaped import bytes_of, element_of, is_memref, memref_type, shape_of
from hidet.dialects.task import CopyOp, ForeachOp
from hidet.dialects.task.layout import SWIZZLES, SharedLayout, SharedLayoutAttr, map_of
from hidet.dialects.walking import ops_of_class
from hidet.lowering.single_walk import rewrite_once
from hidet.lowering.task.expand import expand_copy
from hidet.lowering.task.matmul_loops import (
    allocate_mbarriers,
    allocate_ring,
    is_pingpong,
    loop_ahead_of,
)
from hidet.lowering.task.tensor_cores import group_start, groups_along
from hidet.lowering.task.tma_copies import TmaWindow, is_aligned
from hidet.lowering.templates.blocking import CONSUMERS, SLOTS, STAGED, STAGED_RESIDUAL, pieces_of
from hidet.lowering.templates.config import choices_of
from hidet.mapping import Factor, TaskMap, repeat, spatial
from hidet.rewriting.builder import KernelBuilder
from hidet.rewriting.kernel_pass import KernelPass


def stage_copy(op: CopyOp, rewriter: PatternRewriter) -> None:
    """A copy of a register tile to a sink is staged in a shared tile.

    The body of the sink stores to the shared tile. Each warp group stores its own rectangle and
    synchronizes only itself: one of its threads issues the TMA store, and waits for it before the
    tile is reused and at the end of the kernel. A wide rectangle is split into pieces, two of which
    are in shared memory at a time; several outputs of one type take turns. With a staged residual,
    which TMA loads to the slots ahead of the matmul loop, all pieces are there. Rows that TMA
    cannot store, since their number of bytes is no multiple of 16, are stored by warps, a row after
    the other.
    """
    sink = op.target.owner
    if not isinstance(sink, SinkOp) or not is_memref(op.source.type):
        return
    if space_of(memref_type(op.source)) is not Space.REGISTER:
        return
    found, parts = sink_windows(sink), _Partition.of(map_of(op.source.type))
    elements = {element_of(store.target) for store, _ in found}
    if parts is None or len(elements) != 1:
        return
    kernel = kernel_of(op)
    (element,) = elements
    pieces = parts.pieces(bytes_of(element))
    loop = loop_ahead_of(op)
    found_residual = None if loop is None else staged_residual(op, sink)
    slots = len(pieces) if found_residual else min(len(pieces), SLOTS)
    outer = KernelBuilder(InsertPoint.at_start(kernel.body.block))
    groups = parts.groups * (CONSUMERS if is_pingpong(kernel) else 1)
    tile = _allocate(outer, (groups, slots, parts.rows, parts.columns // len(pieces)), element)
    tmas = [TmaWindow.of(window, shape_of(op.target), tile) for _, window in found]
    is_alike = len({tma is None for tma in tmas}) == 1
    if not is_alike or (tmas[0] is None and any(w.strides[-1] != 1 for _, w in found)):
        rewriter.erase(cast("Operation", tile.owner))
        return
    residual = found_residual and tmas[0] and StagedResidual.of(*found_residual, tile, op)
    stagings = [
        _Staging(op, only_store(sink, number), parts, pieces, tile, tma, residual, number)
        for number, tma in enumerate(tmas)
    ]
    if residual is not None and loop is not None:
        stagings[0].request(residual, loop.op)
    for staging in stagings:
        staging.store_pieces()
    stagings[-1].finish()
    rewriter.erase(op)
    for each in {sink, *(staging.sink for staging in stagings)}:
        if each.result.first_use is None:
            rewriter.erase(each)


def only_store(sink: SinkOp, number: int) -> SinkOp:
    """Return a sink with one of the stores of another one, itself if it has no others."""
    stores = ops_of_class(sink.body, StoreOp)
    if len(stores) == 1:
        return sink
    copied = KernelBuilder(InsertPoint.after(sink)).insert(sink.clone())
    for place, store in enumerate(ops_of_class(copied.body, StoreOp)):
        if place != number:
            Rewriter.erase_op(store)
    return copied


@dataclass(frozen=True)
class _Staging:
    """The stores of a register tile through the slots of a shared tile, one piece after the other.

    `parts` are what warp groups own, and `pieces` the maps of their pieces. The shared tile is
    `[group, slot, row, column]`; TMA loads the residual, if there is one, to its slots first. The
    pieces of outputs with lower numbers are stored before.
    """

    op: CopyOp
    sink: SinkOp
    parts: _Partition
    pieces: Sequence[TaskMap]
    tile: SSAValue
    target: TmaWindow | None
    residual: StagedResidual | None
    number: int = 0

    @property
    def store(self) -> StoreOp:
        """The store of the sink."""
        (store,) = ops_of_class(self.sink.body, StoreOp)
        return store

    @property
    def around(self) -> scf.ForOp | None:
        """The loop over output tiles, if the kernel is persistent."""
        around = self.op.parent_op()
        return around if isinstance(around, scf.ForOp) else None

    def request(self, residual: StagedResidual, loop: scf.ForOp) -> None:
        """Load the residual before the matmul loop."""
        builder = KernelBuilder.like(self.around or loop)
        group = self._group(builder)
        residual.initialize(builder, group, self._is_first(builder))
        _sync_group(builder, group)
        builder.insertion_point = InsertPoint.before(loop)
        columns = shape_of(self.tile)[-1]
        starts = range(0, columns * len(self.pieces), columns)
        offsets = [self._offsets(builder, start) for start in starts]
        residual.request(builder, self._group(builder), self._is_first(builder), offsets)

    def store_pieces(self) -> None:
        """Store all pieces, each through a slot of the shared tile."""
        op, target = self.op, self.target
        builder = KernelBuilder.like(op)
        group, is_first = self._group(builder), self._is_first(builder)
        tensor_map, slots = target and target.build_map(builder), shape_of(self.tile)[1]
        before = self.number * len(self.pieces)
        for number, piece in enumerate(self.pieces, start=before):
            slot, start = number % slots, (number - before) * shape_of(self.tile)[-1]
            place, known = Element(self.tile, [group, builder.index(slot)]), None
            if self.residual is not None:
                known = self.residual.read(builder, place, piece, op.worker)
            elif self.around is not None or number >= slots:
                if target is not None:
                    with builder.when(is_first):
                        builder.insert(cuda.TmaWaitOp(slots - 1))
                _sync_group(builder, group)
            local = self._local_sink(builder, place, known, start)
            copy = builder.insert(CopyOp(op.source, [], local, op.target_offsets, op.worker))
            expand_copy(copy, piece, start)
            if target is not None:
                builder.insert(cuda.FenceProxyAsyncOp())
            _sync_group(builder, group)
            offsets = self._offsets(builder, start)
            if target is None:
                self._store_rows(builder, place, offsets)
            else:
                with builder.when(is_first):
                    for coordinates, _, panel in target.panels(builder, offsets, place):
                        builder.insert(cuda.TmaStoreOp(panel, tensor_map, coordinates))
                    builder.insert(cuda.TmaCommitOp())

    def finish(self) -> None:
        """Wait for all stores at the end of the kernel."""
        builder = KernelBuilder.like(self.op)
        if self.residual is not None:
            self.residual.flip(builder)
        if self.around is not None:
            builder.insertion_point = InsertPoint.after(self.around)
        if self.target is not None:
            with builder.when(self._is_first(builder)):
                builder.insert(cuda.TmaWaitOp(0))

    def _store_rows(
        self, builder: KernelBuilder, place: Element, offsets: Sequence[SSAValue]
    ) -> None:
        """Store the piece in a slot, adjacent elements by adjacent lanes."""
        rows, columns = shape_of(self.tile)[-2:]
        lanes = gcd(columns, WARP)
        across = WARP_GROUP // lanes
        steps = repeat(rows // across, columns // lanes)
        tasks = spatial(across, 1) * steps * spatial(1, lanes)
        worker = builder.index(builder.mod(self.op.worker, WARP_GROUP))
        sink = self._row_sink(builder)
        copy = builder.insert(CopyOp(place.memref, place.indices, sink, offsets, worker))
        expand_copy(copy, tasks)

    def _row_sink(self, builder: KernelBuilder) -> SSAValue:
        """Build a sink that stores finished elements to the result."""
        whole, store = self.sink, self.store
        sink = builder.insert(SinkOp(TensorType(element_of(store.target), shape_of(whole.result))))
        values: dict[SSAValue, SSAValue] = dict(zip(whole.indices, sink.indices, strict=True))
        with builder.inside(sink.body.block):
            for op in whole.body.block.ops:
                if any(type(result.type) is IndexType for result in op.results):
                    builder.insert(op.clone(values))
            place = [values.get(index, index) for index in store.indices]
            builder.insert(StoreOp(sink.value, store.target, place))
        return sink.result

    def _group(self, builder: KernelBuilder) -> SSAValue:
        """Return the warp group of the thread."""
        return builder.index(builder.div(self.op.worker, WARP_GROUP))

    def _is_first(self, builder: KernelBuilder) -> SSAValue:
        """Return whether the thread is the first of its warp group."""
        return builder.equal(builder.mod(self.op.worker, WARP_GROUP), 0)

    def _offsets(self, builder: KernelBuilder, start: int) -> list[SSAValue]:
        """Return the offsets in the result of the piece at a column of a warp group's rectangle."""
        first = group_start(builder, self.parts.tasks, self.op.worker, WARP_GROUP)
        *lead, row, column = self.op.target_offsets
        place = builder.add(row, first[0]), builder.add(column, builder.add(first[1], start))
        return [*lead, *map(builder.index, place)]

    def _local_sink(
        self, builder: KernelBuilder, part: Element, known: SSAValue | None, start: int
    ) -> SSAValue:
        """Build a copy of the sink that stores to a slot instead of the result.

        It takes the residual of the piece at a column from registers, if that is known.
        """
        values: dict[SSAValue, SSAValue] = {}
        local = builder.insert(self.sink.clone(values))
        if not ops_of_class(local.body, LoadOp):  # then it has values out of bounds, too
            Rewriter.replace_value_with_new_type(local.result, self._whole_tiles())
        (store,) = (each for each in local.body.block.ops if isinstance(each, StoreOp))
        load = None if self.residual is None else values[self.residual.load.result].owner
        inside = KernelBuilder.like(load if isinstance(load, LoadOp) else store)
        corner = zip(local.indices[-2:], self.op.target_offsets[-2:], strict=True)
        row, column = (inside.index(inside.subtract(index, first)) for index, first in corner)
        extents = zip((row, column), shape_of(self.tile)[-2:], strict=True)
        place = [*part.indices, *(inside.index(inside.mod(*each)) for each in extents)]
        if isinstance(load, LoadOp) and known is not None:
            element = inside.load(known, [row, inside.subtract(column, start)])
            load.result.replace_all_uses_with(element)
            Rewriter.erase_op(load)
        inside.insertion_point = InsertPoint.before(store)
        inside.insert(StoreOp(store.value, part.memref, place))
        Rewriter.erase_op(store)
        return local.result

    def _whole_tiles(self) -> TensorType:
        """Return the type of the result, with extents that are multiples of those of a tile."""
        (*lead, rows, columns), tile = shape_of(self.sink.result), shape_of(self.op.source)
        pairs = zip((rows, columns), tile, strict=True)
        whole = (-(-extent // step) * step for extent, step in pairs)
        return TensorType(element_of(self.sink.result), [*lead, *whole])


def _sync_group(builder: KernelBuilder, group: SSAValue) -> None:
    """Insert the named barrier of a warp group."""
    builder.insert(cuda.BarrierSyncOp(builder.word(builder.add(group, 1)), WARP_GROUP))


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


def _allocate(builder: KernelBuilder, shape: Sequence[int], element: Attribute) -> SSAValue:
    """Allocate a shared tile `[group, slot, row, column]` with the largest swizzle."""
    row = shape[-1] * bytes_of(element)
    swizzle = max(size for size in SWIZZLES if size == 0 or row % size == 0)
    layout = SharedLayoutAttr(SharedLayout(1, swizzle))
    kind = MemRefType(element, shape, layout, SpaceAttr(Space.SHARED))
    return allocate_ring(builder, kind, "staged")


def staged_residual(copy: CopyOp, sink: SinkOp) -> tuple[LoadOp, Window] | None:
    """Return the residual that a config asks to be staged: its load in the sink, and its window.

    A residual has an element for each of the result, of the same type, and rows that TMA can load.
    Of several, it is the first.
    """
    if choices_of(kernel_of(copy)).get("epilogue") != STAGED_RESIDUAL:
        return None
    found = sink_windows(sink)
    if len(found) != 1:
        return None
    shape, element = shape_of(sink.result), element_of(found[0][0].target)
    for op, window in windows_read(sink):
        if element_of(op.source) == element and is_aligned(window, shape, bytes_of(element)):
            return op, window
    return None


@dataclass(frozen=True)
class StagedResidual:
    """A residual that TMA loads into the slots of a staged result, ahead of the matmul loop.

    `load` reads an element in the sink, and `tile` are the slots of each warp group. They have an
    mbarrier each, `arrived`; the parity of their phase is a variable of each thread.
    """

    load: LoadOp
    source: TmaWindow
    tile: SSAValue
    arrived: SSAValue
    parity: SSAValue

    @classmethod
    def of(
        cls, load: LoadOp, window: Window, tile: SSAValue, copy: CopyOp
    ) -> StagedResidual | None:
        """Allocate the barriers of a residual; None if TMA cannot load it."""
        source = TmaWindow.of(window, shape_of(copy.target), tile)
        if source is None:
            return None
        builder = KernelBuilder(InsertPoint.after(cast("Operation", tile.owner)))
        arrived = allocate_mbarriers(builder, "arrived", *shape_of(tile)[:2])
        return cls(load, source, tile, arrived, builder.local_array(i32, []))

    def initialize(self, builder: KernelBuilder, group: SSAValue, is_first: SSAValue) -> None:
        """Initialize the barriers of a warp group, which must synchronize after it."""
        builder.store(builder.scalar(0, i32), self.parity)
        with builder.when(is_first):
            for slot in range(shape_of(self.tile)[1]):
                barrier = self._barrier(builder, group, slot)
                builder.insert(cuda.MbarrierInitOp(barrier, builder.scalar(1, i32)))
            builder.insert(cuda.FenceMbarrierInitOp())

    def request(
        self,
        builder: KernelBuilder,
        group: SSAValue,
        is_first: SSAValue,
        offsets: Sequence[Sequence[SSAValue]],
    ) -> None:
        """Load the pieces at some offsets, once stores have read what was in their slots."""
        rows, columns = shape_of(self.tile)[-2:]
        size = builder.scalar(rows * columns * bytes_of(element_of(self.tile)), i32)
        tensor_map = self.source.build_map(builder)
        with builder.when(is_first):
            builder.insert(cuda.TmaWaitOp(0))
            for slot, each in enumerate(offsets):
                barrier = self._barrier(builder, group, slot)
                builder.insert(cuda.MbarrierExpectOp(barrier, size))
                place = Element(self.tile, [group, builder.index(slot)])
                self.source.build_loads(builder, tensor_map, each, place, barrier)

    def read(
        self, builder: KernelBuilder, place: Element, piece: TaskMap, worker: SSAValue
    ) -> SSAValue:
        """Wait for the piece in a slot, and return it in registers."""
        barrier = Element(self.arrived, place.indices)
        builder.insert(cuda.MbarrierWaitOp(barrier, builder.load(self.parity)))
        name = self.load.result.name_hint
        registers = builder.register_tile(element_of(self.tile), piece, name)
        foreach = builder.insert(ForeachOp(piece, worker))
        with builder.inside(foreach.body.block):
            extents = zip(foreach.indices, shape_of(self.tile)[-2:], strict=True)
            own = [builder.mod(index, extent) for index, extent in extents]
            value = builder.load(place.memref, [*place.indices, *own])
            builder.store(value, registers, foreach.indices)
        return registers

    def flip(self, builder: KernelBuilder) -> None:
        """Expect the next phase from now on."""
        other = arith.XOrIOp(builder.load(self.parity), builder.scalar(1, i32))
        builder.store(builder.insert(other).result, self.parity)

    def _barrier(self, builder: KernelBuilder, group: SSAValue, slot: int) -> Element:
        return Element(self.arrived, [group, builder.index(slot)])


@dataclass(frozen=True)
class StageEpiloguePass(KernelPass):
    """Store results through shared memory if the kernel's config has `epilogue = "staged"`.

    With `epilogue = "staged-residual"`, TMA also loads a residual, which the epilogue reads from
    the shared memory of the results.

    Expects kernels of task ops on views. Matches copies of register tiles to sinks that store
    values of one type, to adjacent places of a row, if each warp group owns a rectangle of the
    tile.
    Leaves a shared tile with its barriers, which `insert-barriers` ignores, and TMA stores issued
    by one thread per warp group, or stores of rows that TMA cannot access. Other copies, kernels
    and architectures without TMA are left alone.
    """

    name = "stage-epilogue"

    arch: str = "sm_90a"

    def run(self, kernel: cuda.KernelOp) -> None:
        """Stage the epilogue of one kernel."""
        has_tma = TMA_STORE[2].runs_on(Arch.parse(self.arch))
        if has_tma and choices_of(kernel).get("epilogue") in (STAGED, STAGED_RESIDUAL):
            rewrite_once(kernel.body, {CopyOp: stage_copy})
