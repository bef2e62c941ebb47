"""The pass `specialize-warps`: loads tiles by TMA, in general in a producer warp group."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntAttr, IntegerAttr, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.analysis.index_forms import IndexForms
from hidet.analysis.memory import is_arithmetic
from hidet.arch.chips import Arch
from hidet.arch.hopper import TMA_LOAD
from hidet.arch.limits import ROLE_REGISTERS, WARP_GROUP
from hidet.dialects import cuda
from hidet.dialects.constants import known_index
from hidet.dialects.cuda.marks import MIN_BLOCKS, UNROLL
from hidet.dialects.fields import Element
from hidet.dialects.shaped import memref_type
from hidet.dialects.task import GroupOp, MatmulOp
from hidet.dialects.walking import ops_in, ops_of_class
from hidet.lowering.task.chained_matmuls import Build, ChainedMatmuls, zero_fill_of
from hidet.lowering.task.groups import captured_by, is_common
from hidet.lowering.task.matmul_loops import (
    MatmulLoop,
    allocate_mbarriers,
    cluster_of,
    is_pingpong,
    ring_of,
    stages_of,
)
from hidet.lowering.task.tensor_cores import fence_accumulator, wait_for_wgmma
from hidet.lowering.task.tma_copies import TmaCopy
from hidet.lowering.templates.blocking import CONSUMERS
from hidet.rewriting.builder import Index, KernelBuilder
from hidet.rewriting.dead_code import drop_dead_code
from hidet.rewriting.kernel_pass import KernelPass

PENDING = 1
"""Iterations whose wgmma may be in flight when a consumer waits for its next tiles."""


@dataclass
class _Stream:
    """Tiles that arrive at one mbarrier and are released by another."""

    copies: Sequence[TmaCopy]
    barriers: dict[str, SSAValue] = field(default_factory=lambda: dict[str, SSAValue]())

    def full(self, stage: SSAValue) -> Element:
        """Return the mbarrier that completes when the tiles of a stage have arrived."""
        return Element(self.barriers["full"], [stage])

    def empty(self, stage: SSAValue) -> Element:
        """Return the mbarrier that completes when the tiles of a stage have been consumed."""
        return Element(self.barriers["empty"], [stage])


@dataclass
class _Specialization:
    """Rewrites one kernel with one matmul loop.

    Attributes:
        around: the loop over output tiles around it, if the kernel is persistent.
        trips: the trip count of the matmul loop; 0 if unknown, and then there is no outer loop.
        early: the number of iterations whose B tiles are requested before all else.
    """

    kernel: cuda.KernelOp
    loop: MatmulLoop
    around: scf.ForOp | None
    trips: int
    copies: Sequence[TmaCopy]
    early: int

    def __post_init__(self) -> None:
        is_pure = self.loop.is_pure
        self.stages = stages_of(self.kernel)
        if not is_pure and self.trips:
            self.stages = min(self.stages, self.trips)
        self.right = [copy for copy in self.copies if copy.op in self.loop.rhs_copies]
        self.streams = [_Stream(self.copies)] if is_pure else [_Stream([c]) for c in self.copies]
        around, groups = self.around, self.kernel.threads // WARP_GROUP
        self.first_tile = None if around is None else around.lb
        self.tile_step = (around and known_index(around.step)) or 1
        takes_turns = around is not None and is_pure and groups == 1 and is_pingpong(self.kernel)
        self.turns = CONSUMERS if takes_turns else 1
        self.consumers = groups * self.turns
        # A lone warp group with work between its matmuls loads its own tiles: the registers of a
        # producer let more blocks be resident, which overlap.
        self.has_producer = is_pure or self.consumers > 1 or self.around is not None
        (self.thread,) = ops_of_class(self.kernel.body, cuda.ThreadIdOp)

    def build(self) -> None:
        """Build the loads, in a producer warp group if there is one, and the consumers."""
        kernel, op = self.kernel, self.loop.op
        self.rings = {copy.op.tile: ring_of(copy.op.tile, self.stages) for copy in self.copies}
        producers = WARP_GROUP if self.has_producer else 0
        consumer = GroupOp(producers, kernel.threads, copies=self.turns)
        self._move_work(consumer)
        builder = KernelBuilder.like(op, InsertPoint.at_end(kernel.body.block))
        self.maps = {copy.op: copy.source.build_map(builder) for copy in self.copies}
        self._build_barriers(builder)
        if self.has_producer:
            self._build_producer(builder)
        builder.insert(consumer)
        if self.turns > 1:
            self._take_turns(consumer)
        self._build_consumer(consumer)
        if not self.has_producer:
            block = consumer.body.block
            Rewriter.inline_block(block, InsertPoint.before(consumer), [self.thread.result])
            Rewriter.erase_op(consumer)
        for tile in self.rings:
            Rewriter.erase_op(cast("Operation", tile.owner))
        kernel.block = type(kernel.block)([IntAttr(kernel.threads * self.turns + producers)])
        if self.consumers in ROLE_REGISTERS:
            kernel.attributes[MIN_BLOCKS] = IntegerAttr(1, i64)

    def _move_work(self, consumer: GroupOp) -> None:
        """Move all ops into the consumer group, except values that both groups use."""
        shared: set[SSAValue] = set(self.kernel.arguments)
        for op in list(self.kernel.body.block.ops):
            if op is self.thread:
                continue
            if is_common(op) and captured_by(op) <= shared:
                shared.update(op.results)
            else:
                op.detach()
                consumer.body.block.add_op(op)
        self.thread.result.replace_uses_with_if(
            consumer.worker, lambda use: consumer.is_ancestor(use.operation)
        )

    def _take_turns(self, consumer: GroupOp) -> None:
        """Give the tiles of the block to the consumers in turn.

        The work is that of one warp group: quotients of its workers by 128, which select barriers
        and staged tiles, become the number of the consumer.
        """
        around = self.around
        assert around is not None
        worker, copy = consumer.body.block.args
        for op in [use.operation for use in worker.uses]:
            if isinstance(op, arith.DivSIOp) and known_index(op.rhs) == WARP_GROUP:
                op.result.replace_all_uses_with(copy)
                Rewriter.erase_op(op)
        builder = KernelBuilder.like(around, InsertPoint.before(around))
        first = builder.add(around.lb, builder.mul(copy, self.tile_step))
        around.operands[0] = builder.index(first)
        around.operands[2] = builder.index(self.tile_step * self.turns)

    def _build_barriers(self, builder: KernelBuilder) -> None:
        """Allocate and initialize the mbarriers of the rings, and issue the first loads."""
        names = ("full", "empty") if self.has_producer else ("full",)
        for part in self.streams:
            for name in names:
                part.barriers[name] = allocate_mbarriers(builder, name, self.stages)
        if self.turns > 1:
            self.turn = allocate_mbarriers(builder, "turn", self.turns)
        with builder.when(builder.equal(self.thread.result, 0)):
            arrivals = self.consumers // self.turns
            counts = {"full": builder.scalar(1, i32), "empty": builder.scalar(arrivals, i32)}
            for part in self.streams:
                for stage in range(self.stages):
                    at = [builder.index(stage)]
                    for name, barrier in part.barriers.items():
                        builder.insert(cuda.MbarrierInitOp(Element(barrier, at), counts[name]))
            for number in range(self.turns if self.turns > 1 else 0):
                turn = Element(self.turn, [builder.index(number)])
                builder.insert(cuda.MbarrierInitOp(turn, counts["full"]))
            builder.insert(cuda.FenceMbarrierInitOp())
            for step in range(self.early):
                k = builder.index(builder.add(self.loop.op.lb, step * self.loop.step))
                self._fetch(builder, self.right, k, builder.index(step), {})
            if not self.has_producer:
                for step in range(self.stages):
                    k = builder.index(builder.add(self.loop.op.lb, step * self.loop.step))
                    for part in self.streams:
                        self._load(builder, part, k)
        builder.insert(cuda.SyncThreadsOp())

    def _build_producer(self, builder: KernelBuilder) -> None:
        """Build the producer warp group, of which one thread issues the loads."""
        group = builder.insert(GroupOp(0, WARP_GROUP))
        group.worker.name_hint = "producer"
        values: dict[SSAValue, SSAValue] = {}
        with builder.inside(group.body.block):
            self._set_registers(builder, "dec")
            with builder.when(builder.equal(group.worker, 0)):
                if self.around is None:
                    self._build_fetch_loop(builder, values)
                else:
                    with builder.loop_like(self.around, values) as tile:
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
        """Build the loop that loads the tiles of each iteration once their stage is empty."""
        unroll = max(copy.source.UNROLL for copy in self.copies)
        attributes = {UNROLL: IntegerAttr(unroll, i64)} if unroll else {}
        with builder.loop_like(self.loop.op, values, attributes=attributes) as k:
            step = self._step(builder, k, tile)
            stage, parity = self._slot(builder, step, 1)
            early = self.right if self.early else []
            for part in self.streams:
                builder.insert(cuda.MbarrierWaitOp(part.empty(stage), parity))
                self._expect(builder, part, stage)
                if early:
                    with builder.when(builder.less(self.early - 1, step)):
                        self._fetch(builder, early, k, stage, values)
                others = [copy for copy in part.copies if copy not in early]
                self._fetch(builder, others, k, stage, values)

    def _load(self, builder: KernelBuilder, part: _Stream, k: SSAValue) -> None:
        """Load the tiles of an iteration, if there is one, to a stage that is empty."""
        with builder.when(builder.less(k, self.loop.op.ub)):
            stage, _ = self._slot(builder, self._step(builder, k, None), 0)
            self._expect(builder, part, stage)
            self._fetch(builder, part.copies, k, stage, {})

    @staticmethod
    def _expect(builder: KernelBuilder, part: _Stream, stage: SSAValue) -> None:
        """Make the `full` barrier of a stage wait for the bytes of its tiles."""
        size = builder.scalar(sum(copy.bytes for copy in part.copies), i32)
        builder.insert(cuda.MbarrierExpectOp(part.full(stage), size))

    def _fetch(
        self,
        builder: KernelBuilder,
        copies: Sequence[TmaCopy],
        k: SSAValue,
        stage: SSAValue,
        values: dict[SSAValue, SSAValue],
    ) -> None:
        inside = self.loop.at(builder, k, values)
        for copy in copies:
            offsets = [inside.get(offset, offset) for offset in copy.op.source_offsets]
            target = Element(self.rings[copy.op.tile], [stage])
            barrier = next(part for part in self.streams if copy in part.copies).full(stage)
            copy.source.build_loads(builder, self.maps[copy.op], offsets, target, barrier)

    def _build_consumer(self, group: GroupOp) -> None:
        """Make the matmul loop wait for full stages and release them after use."""
        loop, op = self.loop, self.loop.op
        builder = KernelBuilder.like(op, InsertPoint.at_start(group.body.block))
        self._set_registers(builder, "inc")
        lane = builder.index(builder.mod(group.worker, WARP_GROUP))
        is_first = builder.equal(lane, 0)
        if loop.is_pure:
            self._multiply_ahead(builder, is_first)
        else:
            self._multiply_in_place(builder, is_first)

    def _multiply_ahead(self, builder: KernelBuilder, is_first: SSAValue) -> None:
        """Issue the wgmma of an iteration; release the stage of the previous iteration."""
        loop, op = self.loop, self.loop.op
        (part,) = self.streams
        tile = None if self.around is None else self.around.body.block.args[0]
        if len(loop.accumulators) > 1:
            # In short loops ptxas (CUDA 13.0) zeroes the later ones between matmuls, and serializes
            # these (C7520).
            builder.insertion_point = InsertPoint.before(op)
            for accumulator in loop.accumulators:
                fence_accumulator(builder, accumulator)
        builder.insertion_point = InsertPoint.at_start(op.body.block)
        step = self._step(builder, op.body.block.args[0], tile)
        stage, parity = self._slot(builder, step, 0)
        builder.insert(cuda.MbarrierWaitOp(part.full(stage), parity))
        for product in loop.matmuls:
            loop.multiply(builder, product, self.rings, stage, is_async=True)
        builder.insert(cuda.WgmmaWaitOp(loop.groups(PENDING)))
        has_last = builder.less(op.lb, op.body.block.args[0])
        last = builder.subtract(step, 1)
        self._free(builder, part, builder.all_of([is_first, has_last]), last)
        builder.insertion_point = InsertPoint.after(op)
        if tile is not None and self.turns > 1:
            self._in_turn(builder, is_first, tile)
        for accumulator in loop.accumulators:
            wait_for_wgmma(builder, accumulator)
        if self.trips:
            end = builder.add(builder.index(op.lb), (self.trips - 1) * loop.step)
            self._free(builder, part, is_first, self._step(builder, builder.index(end), tile))
        self._erase_matmuls()

    def _in_turn(self, builder: KernelBuilder, is_first: SSAValue, tile: SSAValue) -> None:
        """Let the matmul loops of consumers alternate, in the order of their loads.

        Without an order, a consumer could wait for a stage two phases ahead, which the parity of a
        phase does not tell from the current one.
        """
        b, after = builder, builder.insertion_point
        b.insertion_point = InsertPoint.before(self.loop.op)
        number = self._number(b, tile)
        own = b.index(b.mod(number, self.turns))
        phase = b.index(b.add(b.add(b.div(number, self.turns), own), 1))
        b.insert(cuda.MbarrierWaitOp(Element(self.turn, [own]), b.word(b.mod(phase, 2))))
        b.insertion_point = after
        with b.when(is_first):
            other = b.index(b.subtract(1, own))
            b.insert(cuda.MbarrierArriveOp(Element(self.turn, [other])))

    def _multiply_in_place(self, builder: KernelBuilder, is_first: SSAValue) -> None:
        """Issue each wgmma in place, among the other ops of the loop that use its results.

        Loop-invariant tiles were stored by threads before the loop, and are read through the async
        proxy.
        """
        op = self.loop.op
        tile = None if self.around is None else self.around.body.block.args[0]
        parts = {part.copies[0].op.tile: part for part in self.streams}

        def multiply(b: KernelBuilder, product: MatmulOp, k: SSAValue) -> None:
            stage, parity = self._slot(b, self._step(b, k, tile), 0)
            b.insert(cuda.MbarrierWaitOp(parts[product.rhs].full(stage), parity))
            overwrites = product in fills
            self.loop.multiply(b, product, self.rings, stage, is_async=True, overwrites=overwrites)

        def free(b: KernelBuilder, product: MatmulOp, k: SSAValue) -> None:
            part = parts[product.rhs]
            if self.has_producer:
                self._free(b, part, is_first, self._step(b, k, tile))
                return
            with b.when(is_first):
                self._load(b, part, b.index(b.add(k, self.stages * self.loop.step)))

        builder.insertion_point = InsertPoint.before(op)
        builder.insert(cuda.FenceProxyAsyncOp())
        fills = {each: fill for each in self.loop.matmuls if (fill := zero_fill_of(each))}
        chain = ChainedMatmuls.of(self.loop)
        if chain is not None:
            chain.build(builder, multiply, free, loads=not self.has_producer)
            Rewriter.erase_op(op)
            return
        for fill in fills.values():
            Rewriter.erase_op(fill)
        self._issue_in_place(builder, multiply, free)
        self._erase_matmuls()

    def _issue_in_place(self, builder: KernelBuilder, multiply: Build, free: Build) -> None:
        """Issue each wgmma where its matmul is; wait for it ahead of the next use of its tiles."""
        body = self.loop.op.body.block
        k = body.args[0]
        last_readers = {product.rhs: product for product in self.loop.matmuls}
        in_flight: list[MatmulOp] = []
        for op in list(body.ops):
            used = {value for each in ops_in(op) for value in each.operands}
            done = 0
            for number, product in enumerate(in_flight, 1):
                if op is body.last_op or used & set(_registers_of(product)):
                    done = number
            builder.insertion_point = InsertPoint.before(op)
            if done:
                builder.insert(cuda.WgmmaWaitOp(len(in_flight) - done))
            finished = [in_flight.pop(0) for _ in range(done)]
            for product in finished:
                fence_accumulator(builder, product.accumulator)
                if product is last_readers[product.rhs]:
                    free(builder, product, k)
            if isinstance(op, MatmulOp):
                multiply(builder, op, k)
                in_flight.append(op)

    def _erase_matmuls(self) -> None:
        for each in (*self.loop.copies, *self.loop.matmuls):
            Rewriter.erase_op(each)

    def _free(
        self, builder: KernelBuilder, part: _Stream, condition: SSAValue, step: Index
    ) -> None:
        """Have one thread of each warp group arrive at the `empty` barrier of an iteration."""
        with builder.when(condition):
            stage, _ = self._slot(builder, step, 0)
            builder.insert(cuda.MbarrierArriveOp(part.empty(stage)))

    def _step(self, builder: KernelBuilder, k: SSAValue, tile: SSAValue | None) -> Index:
        """Return the iteration number, counted over all output tiles of the block."""
        b = builder
        first = known_index(self.loop.op.lb) or 0
        step = b.div(b.index(b.subtract(k, first)), self.loop.step)
        if tile is None:
            return step
        return b.add(b.mul(self._number(b, tile), self.trips), step)

    def _number(self, builder: KernelBuilder, tile: SSAValue) -> SSAValue:
        """Return the number of an output tile of the block, in the order of the loads."""
        assert self.first_tile is not None
        past = builder.index(builder.subtract(tile, self.first_tile))
        return builder.index(builder.div(past, self.tile_step))

    def _slot(self, builder: KernelBuilder, step: Index, phase: int) -> tuple[SSAValue, SSAValue]:
        """Return the stage of an iteration, and the parity of its barrier phase.

        Phase 0 is the fill of this iteration, 1 the release of the previous use.
        """
        b, number = builder, builder.index(step)
        turn = b.add(b.div(number, self.stages), phase)
        parity = b.index(b.mod(b.index(turn), 2))
        stage = b.index(b.mod(number, self.stages))
        stage.name_hint, parity.name_hint = "stage", "parity"
        return stage, b.word(parity)

    def _set_registers(self, builder: KernelBuilder, action: str) -> None:
        """Set the register count of a group by `setmaxnreg`, if the kernel has enough consumers."""
        if self.consumers in ROLE_REGISTERS:
            count = ROLE_REGISTERS[self.consumers][action == "inc"]
            builder.insert(cuda.SetMaxNregOp(action, count))


def _registers_of(product: MatmulOp) -> list[SSAValue]:
    """Return the register tiles that a matmul uses while it is in flight."""
    tiles = (product.lhs, product.accumulator)
    return [tile for tile in tiles if cuda.space_of(memref_type(tile)) is cuda.Space.REGISTER]


def _specialization(kernel: cuda.KernelOp, arch: Arch) -> _Specialization | None:
    """Return the rewriting of a kernel, None if it does not match."""
    loops = [MatmulLoop(op) for op in ops_of_class(kernel.body, scf.ForOp)]
    loops = [loop for loop in loops if loop.feeds_matmuls]
    ids = ops_of_class(kernel.body, cuda.ThreadIdOp)
    classes: set[type[Operation]] = {type(op) for op in ops_in(kernel.body)}
    meets = any(kind is GroupOp or kind.has_trait(cuda.BlockBarrier) for kind in classes)
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
        all(op.can_be_async for op in loop.matmuls)
        and len(copies) == len(loop.copies)
        and known_index(loop.op.lb) is not None
        and (around.parent_op() if is_nested else around) is kernel
        and (not is_nested or (trips > 0 and not around.iter_args))
        and (not is_nested or (known_index(around.step) or 0) > 0)
        and kernel.block_dims[1:] == (1, 1)
        and kernel.threads + WARP_GROUP <= arch.threads_per_block
    )
    if not is_possible:
        return None
    # Persistent blocks and clusters have their tiles prefetched already.
    is_single = loop.is_pure and not is_nested and cluster_of(kernel) == 1
    early = min(stages_of(kernel), trips) if is_single else 0
    return _Specialization(kernel, loop, around if is_nested else None, trips, copies, early)


@dataclass(frozen=True)
class SpecializeWarpsPass(KernelPass):
    """Load matmul tiles by TMA in a producer warp group; the others become consumers.

    Expects kernels of task ops on views, with layouts on shared tiles. Matches kernels with one
    loop of wgmma matmuls whose tiles are all windows of buffers or im2col pixels, optionally inside
    a persistent loop over output tiles. Leaves multi-stage tiles (the config's `stages`), an
    mbarrier for each full and each empty stage, a `task.group` of 128 producer threads of which one
    issues the loads, and a `task.group` of the original threads with all other work. If the config
    of a persistent kernel of one warp group says `schedule = "pingpong"`, two copies of that group
    take turns with the tiles of the block. If the loop does more than multiply, each tile has
    barriers of its own, and chained matmuls, as in attention, overlap with the ops between them
    (`hidet.lowering.task.chained_matmuls`). If a lone warp group does so, there is no producer: a
    thread of the group loads a tile of a later iteration as soon as a matmul has released its
    stage. Other tile sources and architectures without TMA are left to `pipeline-copies`.
    """

    name = "specialize-warps"

    arch: str = "sm_90a"

    def run(self, kernel: cuda.KernelOp) -> None:
        """Specialize the warps of one kernel."""
        arch = Arch.parse(self.arch)
        found = _specialization(kernel, arch) if TMA_LOAD[2].runs_on(arch) else None
        if found is not None:
            found.build()
