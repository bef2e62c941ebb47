"""The pass `specialize-warps`: some warps fetch tiles by TMA, the others multiply them."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntAttr, IntegerAttr, ModuleOp, UnitAttr, i32, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.analysis.index_forms import IndexForms
from hidet.analysis.kernels import kernels_of
from hidet.analysis.memory import is_arithmetic
from hidet.arch.chips import Arch
from hidet.arch.hopper import TMA_LOAD
from hidet.arch.limits import ROLE_REGISTERS, WARP_GROUP
from hidet.dialects.compute import GridOp, SinkOp
from hidet.dialects.cuda import (
    FenceMbarrierInitOp,
    FenceProxyAsyncOp,
    KernelOp,
    MbarrierArriveOp,
    MbarrierExpectOp,
    MbarrierInitOp,
    MbarrierWaitOp,
    SetMaxNregOp,
    SyncThreadsOp,
    ThreadIdOp,
    WgmmaWaitOp,
)
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.instructions import BlockBarrier, IdOp
from hidet.dialects.cuda.marks import MIN_BLOCKS
from hidet.dialects.cuda.table_ops import Element, known_index
from hidet.dialects.task import GroupOp, MatmulOp
from hidet.dialects.task.marks import RING
from hidet.lowering.task.chained_products import ChainedProducts
from hidet.lowering.task.lower_wgmma import wait_for_products
from hidet.lowering.task.product_loops import ProductLoop, cluster_of, ring_of, stages_of
from hidet.lowering.task.tma_copies import TmaCopy
from hidet.rewriting.builder import Index, KernelBuilder, set_unroll
from hidet.rewriting.dead_code import drop_dead_code
from hidet.rewriting.locations import location_setter

PENDING = 1
"""Steps whose products may be under way when a warp group asks for the next tiles."""


@dataclass
class _Part:
    """What comes together, and is free together.

    Attributes:
        copies: what fetches it.
        barriers: `full`: the tiles of a stage have come; `empty`: they have been multiplied.
    """

    copies: Sequence[TmaCopy]
    barriers: dict[str, SSAValue] = field(default_factory=lambda: dict[str, SSAValue]())

    def full(self, stage: SSAValue) -> Element:
        """Return the barrier at which the tiles of a stage have come."""
        return Element(self.barriers["full"], [stage])

    def empty(self, stage: SSAValue) -> Element:
        """Return the barrier at which they have been multiplied."""
        return Element(self.barriers["empty"], [stage])


@dataclass
class _Specialization:
    """Rewrites one kernel with one loop of products.

    Attributes:
        kernel: the kernel.
        loop: the loop.
        around: the loop over tiles of the result around it, where there is one.
        trips: how often the loop of products runs; 0 where it is not known, and nothing is around.
        copies: how TMA makes its copies.
        early: for so many steps, the right factor is asked for ahead of all else.
    """

    kernel: KernelOp
    loop: ProductLoop
    around: scf.ForOp | None
    trips: int
    copies: Sequence[TmaCopy]
    early: int

    def __post_init__(self) -> None:
        self.stages = stages_of(self.kernel)
        is_one = self.loop.is_one
        self.parts = [_Part(self.copies)] if is_one else [_Part([copy]) for copy in self.copies]
        self.consumers = self.kernel.threads // WARP_GROUP
        self.thread = next(op for op in self.kernel.body.block.ops if isinstance(op, ThreadIdOp))

    def build(self) -> None:
        """Give the kernel a warp group more, which fetches what the others multiply."""
        kernel, op = self.kernel, self.loop.op
        self.rings = {copy.op.tile: ring_of(copy.op.tile, self.stages) for copy in self.copies}
        consumer = GroupOp(WARP_GROUP, self.kernel.threads)
        self._move_work(consumer)
        builder = KernelBuilder(InsertPoint.at_end(kernel.body.block))
        builder.operation_insertion_handler = [location_setter(op.location)]
        self.maps = {copy.op: copy.source.build_map(builder) for copy in self.copies}
        self._build_barriers(builder)
        self._build_producer(builder)
        builder.insert(consumer)
        self._build_consumer(consumer)
        for tile in self.rings:
            Rewriter.erase_op(cast("Operation", tile.owner))
        kernel.block = type(kernel.block)([IntAttr(kernel.threads + WARP_GROUP)])
        if self.consumers in ROLE_REGISTERS:
            kernel.attributes[MIN_BLOCKS] = IntegerAttr(1, i64)

    def _move_work(self, consumer: GroupOp) -> None:
        """Move into the group of consumers all that is more than a value that all threads have."""
        shared: set[SSAValue] = set(self.kernel.arguments)
        for op in list(self.kernel.body.block.ops):
            if op is self.thread:
                continue
            if _can_be_shared(op) and _captured(op) <= shared:
                shared.update(op.results)
            else:
                op.detach()
                consumer.body.block.add_op(op)
        self.thread.result.replace_uses_with_if(
            consumer.worker, lambda use: _is_inside(use.operation, consumer)
        )

    def _build_barriers(self, builder: KernelBuilder) -> None:
        """Build the barriers of the rings: a tile has come, and a tile is free."""
        for part in self.parts:
            for name in ("full", "empty"):
                barrier = builder.shared_tile(i64, [self.stages])
                barrier.name_hint = name
                cast("Operation", barrier.owner).attributes[RING] = UnitAttr()
                part.barriers[name] = barrier
        with builder.when(builder.equal(self.thread.result, 0)):
            counts = {"full": builder.scalar(1, i32), "empty": builder.scalar(self.consumers, i32)}
            for part in self.parts:
                for stage in range(self.stages):
                    at = [builder.index(stage)]
                    for name, barrier in part.barriers.items():
                        builder.insert(MbarrierInitOp(Element(barrier, at), counts[name]))
            builder.insert(FenceMbarrierInitOp())
            for step in range(self.early):
                k = builder.index(builder.add(self.loop.op.lb, step * self.loop.step))
                self._fetch(builder, self._right, k, builder.index(step), {})
        builder.insert(SyncThreadsOp())

    @property
    def _right(self) -> list[TmaCopy]:
        """The copies of right factors."""
        return [copy for copy in self.copies if copy.op in self.loop.right_copies]

    def _build_producer(self, builder: KernelBuilder) -> None:
        """Build the warp group of which one thread fetches the tiles."""
        group = builder.insert(GroupOp(0, WARP_GROUP))
        group.worker.name_hint = "producer"
        values: dict[SSAValue, SSAValue] = {}
        with builder.inside(group.body.block):
            self._set_registers(builder, "dec")
            with builder.when(builder.equal(group.worker, 0)):
                if self.around is None:
                    self._build_fetch_loop(builder, values)
                else:
                    with _like(builder, self.around, values) as tile:
                        for op in self.around.body.block.ops:
                            if is_arithmetic(op):
                                builder.insert(op.clone(values))
                        self._build_fetch_loop(builder, values, tile)
        drop_dead_code(group)

    def _build_fetch_loop(
        self,
        builder: KernelBuilder,
        values: dict[SSAValue, SSAValue],
        tile: SSAValue | None = None,
    ) -> None:
        """Build the loop that fetches the tiles of each step, once the ones before are free."""
        unroll = max(copy.source.UNROLL for copy in self.copies)
        with _like(builder, self.loop.op, values, unroll) as k:
            step = self._step(builder, k, tile)
            stage, parity = self._slot(builder, step, 1)
            early = self._right if self.early else []
            for part in self.parts:
                builder.insert(MbarrierWaitOp(part.empty(stage), parity))
                size = builder.scalar(sum(copy.bytes for copy in part.copies), i32)
                builder.insert(MbarrierExpectOp(part.full(stage), size))
                if early:
                    with builder.when(builder.less(self.early - 1, step)):
                        self._fetch(builder, early, k, stage, values)
                others = [copy for copy in part.copies if copy not in early]
                self._fetch(builder, others, k, stage, values)

    def _fetch(
        self,
        builder: KernelBuilder,
        copies: Sequence[TmaCopy],
        k: SSAValue,
        stage: SSAValue,
        values: dict[SSAValue, SSAValue],
    ) -> None:
        """Ask for tiles of a step of k."""
        inside = self.loop.at(builder, k, values)
        for copy in copies:
            offsets = [inside.get(offset, offset) for offset in copy.op.source_offsets]
            target = Element(self.rings[copy.op.tile], [stage])
            barrier = next(part for part in self.parts if copy in part.copies).full(stage)
            copy.source.build_loads(builder, self.maps[copy.op], offsets, target, barrier)

    def _build_consumer(self, group: GroupOp) -> None:
        """Let the loop of the consumers wait for tiles, and free them once they are multiplied."""
        loop, op = self.loop, self.loop.op
        builder = KernelBuilder(InsertPoint.at_start(group.body.block))
        builder.operation_insertion_handler = [location_setter(op.location)]
        self._set_registers(builder, "inc")
        lane = builder.index(builder.mod(group.worker, WARP_GROUP))
        is_first = builder.equal(lane, 0)
        if loop.is_one:
            self._multiply_ahead(builder, is_first)
        else:
            self._multiply_in_place(builder, is_first)

    def _multiply_ahead(self, builder: KernelBuilder, is_first: SSAValue) -> None:
        """Build the products of a step, under way until the next one has begun its own."""
        loop, op = self.loop, self.loop.op
        (part,) = self.parts
        tile = None if self.around is None else self.around.body.block.args[0]
        builder.insertion_point = InsertPoint.at_start(op.body.block)
        step = self._step(builder, op.body.block.args[0], tile)
        stage, parity = self._slot(builder, step, 0)
        builder.insert(MbarrierWaitOp(part.full(stage), parity))
        loop.multiply(builder, self.rings, stage, is_async=True)
        builder.insert(WgmmaWaitOp(loop.groups(PENDING)))
        has_last = builder.less(op.lb, op.body.block.args[0])
        last = builder.subtract(step, 1)
        self._free(builder, part, builder.all_of([is_first, has_last]), last)
        builder.insertion_point = InsertPoint.after(op)
        for accumulator in loop.accumulators:
            wait_for_products(builder, accumulator, 0)
        if self.trips:
            end = builder.add(builder.index(op.lb), (self.trips - 1) * loop.step)
            self._free(builder, part, is_first, self._step(builder, builder.index(end), tile))
        self._erase_products()

    def _multiply_in_place(self, builder: KernelBuilder, is_first: SSAValue) -> None:
        """Build the products of a step among what else is done in it, which needs their results.

        Tiles that stay the same were stored by threads ahead of the loop, and are read by wgmma.
        """
        op = self.loop.op
        tile = None if self.around is None else self.around.body.block.args[0]
        parts = {part.copies[0].op.tile: part for part in self.parts}

        def multiply(b: KernelBuilder, product: MatmulOp, k: SSAValue) -> None:
            stage, parity = self._slot(b, self._step(b, k, tile), 0)
            b.insert(MbarrierWaitOp(parts[product.rhs].full(stage), parity))
            overwrites = chain is not None and product is chain.scores
            self.loop.multiply_once(
                b, product, self.rings, stage, is_async=True, overwrites=overwrites
            )

        def free(b: KernelBuilder, product: MatmulOp, k: SSAValue) -> None:
            self._free(b, parts[product.rhs], is_first, self._step(b, k, tile))

        builder.insertion_point = InsertPoint.before(op)
        builder.insert(FenceProxyAsyncOp())
        chain = ChainedProducts.of(self.loop)
        if chain is not None:
            chain.build(builder, multiply, free)
            Rewriter.erase_op(op)
            return
        for product in self.loop.products:
            builder.insertion_point = InsertPoint.before(product)
            multiply(builder, product, op.body.block.args[0])
            wait_for_products(builder, product.accumulator, 0)
            free(builder, product, op.body.block.args[0])
        self._erase_products()

    def _erase_products(self) -> None:
        """Erase the copies and products that were, of which there are others now."""
        for each in (*self.loop.copies, *self.loop.products):
            Rewriter.erase_op(each)

    def _free(self, builder: KernelBuilder, part: _Part, condition: SSAValue, step: Index) -> None:
        """Have a thread say that its warp group has multiplied the tiles of a step."""
        with builder.when(condition):
            stage, _ = self._slot(builder, step, 0)
            builder.insert(MbarrierArriveOp(part.empty(stage)))

    def _step(self, builder: KernelBuilder, k: SSAValue, tile: SSAValue | None) -> Index:
        """Return which step this is of all that the block makes, by the variables of its loops."""
        b = builder
        first = known_index(self.loop.op.lb) or 0
        step = b.div(b.index(b.subtract(k, first)), self.loop.step)
        if self.around is None or tile is None:
            return step
        past = b.index(b.subtract(tile, self.around.lb))
        turns = b.div(past, known_index(self.around.step) or 1)
        return b.add(b.mul(b.index(turns), self.trips), step)

    def _slot(self, builder: KernelBuilder, step: Index, phase: int) -> tuple[SSAValue, SSAValue]:
        """Return the stage of a step, and the parity of the phase of its barrier.

        Args:
            builder: where to build.
            step: the number of the step.
            phase: 0 for what comes with the step, 1 for what the step before has left.
        """
        b, number = builder, builder.index(step)
        turn = b.add(b.div(number, self.stages), phase)
        parity = b.index(b.mod(b.index(turn), 2))
        return b.index(b.mod(number, self.stages)), b.insert(arith.IndexCastOp(parity, i32)).result

    def _set_registers(self, builder: KernelBuilder, action: str) -> None:
        """Let the threads of a group have fewer or more registers, where it is worth it."""
        if self.consumers in ROLE_REGISTERS:
            count = ROLE_REGISTERS[self.consumers][action == "inc"]
            builder.insert(SetMaxNregOp(action, count))


@contextmanager
def _like(
    builder: KernelBuilder, loop: scf.ForOp, values: dict[SSAValue, SSAValue], unroll: int = 0
) -> Generator[SSAValue]:
    """Build a loop with the bounds of another one; give its variable, which `values` learns."""
    body = Block(arg_types=[IndexType()])
    body.args[0].name_hint = loop.body.block.args[0].name_hint
    first, stop, step = (values.get(bound, bound) for bound in (loop.lb, loop.ub, loop.step))
    values[loop.body.block.args[0]] = body.args[0]
    with builder.inside(body):
        yield body.args[0]
        builder.insert(scf.YieldOp())
    set_unroll(builder.insert(scf.ForOp(first, stop, step, [], body)), unroll or False)


def _can_be_shared(op: Operation) -> bool:
    """Return whether an op may stand ahead of the groups: it gives a value, view or shared tile."""
    if isinstance(op, memref.AllocaOp):
        return space_of(op.memref.type) is Space.SHARED
    return is_arithmetic(op) or isinstance(op, IdOp | GridOp | SinkOp)


def _captured(op: Operation) -> set[SSAValue]:
    """Return the values from outside that an op and its regions use."""
    inside: set[SSAValue] = set()
    used: set[SSAValue] = set()
    for each in op.walk():
        used.update(each.operands)
        inside.update(each.results)
        inside.update(arg for region in each.regions for b in region.blocks for arg in b.args)
    return used - inside


def _is_inside(op: Operation, group: GroupOp) -> bool:
    """Return whether an op stands in a group."""
    parent = op.parent_op()
    while parent is not None and parent is not group:
        parent = parent.parent_op()
    return parent is group


def _specialization(kernel: KernelOp, arch: Arch) -> _Specialization | None:
    """Return how a kernel gets its producer, None where there is nothing for one to fetch."""
    loops = [ProductLoop(op) for op in kernel.body.walk() if isinstance(op, scf.ForOp)]
    loops = [loop for loop in loops if loop.feeds_products]
    ids = [op for op in kernel.body.walk() if isinstance(op, ThreadIdOp)]
    meets = any(isinstance(op, GroupOp) or op.has_trait(BlockBarrier) for op in kernel.body.walk())
    if len(loops) != 1 or len(ids) != 1 or meets or stages_of(kernel) == 1:
        return None
    if ids[0].parent is not kernel.body.block:
        return None
    (loop,) = loops
    around = loop.op.parent_op()
    is_nested = isinstance(around, scf.ForOp)
    trips = IndexForms().trip_count(loop.op) or 0
    copies = [copy for copy in map(TmaCopy.of, loop.copies) if copy is not None]
    is_possible = (
        all(op.can_be_async for op in loop.products)
        and len(copies) == len(loop.copies)
        and known_index(loop.op.lb) is not None
        and (not is_nested or (trips > 0 and _goes_over_tiles(around, kernel)))
        and (is_nested or around is kernel)
        and kernel.block_dims[1:] == (1, 1)
        and kernel.threads + WARP_GROUP <= arch.threads_per_block
    )
    if not is_possible:
        return None
    # Blocks that go over tiles and those of clusters have asked for theirs long before they come.
    is_single = loop.is_one and not is_nested and cluster_of(kernel) == 1
    early = min(stages_of(kernel), trips) if is_single else 0
    return _Specialization(kernel, loop, around if is_nested else None, trips, copies, early)


def _goes_over_tiles(loop: scf.ForOp, kernel: KernelOp) -> bool:
    """Return whether a loop stands in no other one, carries nothing and has a known step."""
    return loop.parent_op() is kernel and not loop.iter_args and (known_index(loop.step) or 0) > 0


@dataclass(frozen=True)
class SpecializeWarpsPass(ModulePass):
    """Add a warp group that fetches the tiles of a product by TMA, for the others to multiply.

    Expects kernels of task ops on views, whose shared tiles have layouts. Rewrites those with one
    loop of products of warp groups (wgmma) whose tiles are all windows of buffers, or what filters
    see of images, alone or in one loop over tiles of the result: they get a ring of as many tiles
    as the `stages` of their config, a barrier in memory for each tile that has come and one for
    each that is free, a `task.group` of 128 threads, one of which fetches, and one of all threads
    there were, with all their work. Where the loop does more than multiply, each tile has barriers
    of its own, and products that are chained, as those of attention, overlap with what is computed
    in between (`hidet.lowering.task.chained_products`). What else a tile may come from is left to
    `pipeline-copies`, and so are machines without TMA.
    """

    name = "specialize-warps"

    arch: str = "sm_90a"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Specialize the warps of every kernel of the module."""
        arch = Arch.parse(self.arch)
        if not TMA_LOAD[2].runs_on(arch):
            return
        for kernel in kernels_of(op):
            found = _specialization(kernel, arch)
            if found is not None:
                found.build()
