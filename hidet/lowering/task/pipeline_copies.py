"""The pass `pipeline-copies`: prefetches tiles of later iterations with cp.async."""

from collections.abc import Iterator, Sequence
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FixedBitwidthType, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from hidet.analysis.grids import is_view, loads_of
from hidet.analysis.kernels import kernel_of
from hidet.dialects import cuda
from hidet.dialects.compute import GridOp
from hidet.dialects.shaped import element_of, is_memref, memref_type, shape_of
from hidet.dialects.task import CopyOp, MatmulOp, map_of, shared_layout_of
from hidet.dialects.walking import ops_of_class
from hidet.errors import ScheduleError
from hidet.lowering.single_walk import rewrite_once
from hidet.lowering.task.matmul_loops import MatmulLoop, ring_of, stages_of
from hidet.lowering.task.tensor_cores import wait_for_wgmma
from hidet.rewriting.builder import Index, KernelBuilder, set_unroll
from hidet.rewriting.kernel_pass import KernelPass

SMALLEST = 4
"""The bytes of the shortest asynchronous copy (PTX ISA, cp.async)."""

NO_UNROLLING = 1
"""Keeps ptxas (CUDA 13.0) from unrolling the loop by four: it may then increment the address of a
tile twice, so that the fourth iteration reads the wrong tile."""


def pipeline_loop(op: scf.ForOp, rewriter: PatternRewriter) -> None:
    """A loop that copies and multiplies tiles uses a ring of several stages.

        for k0 { copy x[k0] to a[]   matmul a }

    becomes, with three stages and two tiles in flight,

        copy x[0] to a[0] async   copy x[1] to a[1] async
        for k0 { wait   sync   copy x[k0 + 2] to a[(k0 + 2) % 3] async   matmul a[k0 % 3] }

    Tiles that are copied unchanged use cp.async. Tiles that have to be computed are loaded to
    registers before the matmul and stored to shared memory after it. Other ops of the loop stay
    in place.

    If the loop does nothing else and the matmul is by FMA, the fragments of the next k are loaded
    to registers ahead of each step, also across the barrier:

        load a[0][0] to f
        for k0 { copy x[k0 + 2] to a[(k0 + 2) % 3] async
                 for k { matmul f   load a[k0 % 3][k + 1] to f }
                 wait   sync   matmul f   load a[(k0 + 1) % 3][0] to f }

    If the loop does nothing else and the matmul is asynchronous (wgmma), it stays in flight for
    one more iteration. Its stage is then released one iteration later, so one tile less is in
    flight:

        for k0 { wait   sync   matmul a[k0 % 3] async   copy x[k0 + 1] to a[(k0 + 1) % 3] async
                 wait for the matmul of the previous iteration }
    """
    stages = stages_of(kernel_of(op))
    loop = MatmulLoop(op)
    if stages > 1 and loop.feeds_matmuls:
        _Pipeline(loop, stages).build(rewriter)


class _Pipeline:
    """Rewrites one loop."""

    def __init__(self, loop: MatmulLoop, stages: int) -> None:
        self.loop = loop
        self.stages = stages
        self.is_async = loop.is_pure and all(op.can_be_async for op in loop.matmuls)
        self.pending = int(self.is_async and stages > 2)
        self.ahead = stages - 1 - self.pending
        self.rings = {copy.tile: ring_of(copy.tile, stages) for copy in loop.copies}
        self.fragments = _fragments(loop)
        self.direct = [copy for copy in loop.copies if can_be_async(copy)]
        self.computed = [copy for copy in loop.copies if not can_be_async(copy)]

    def build(self, rewriter: PatternRewriter) -> None:
        """Build the prologue, the new loop body and the epilogue."""
        loop, op = self.loop, self.loop.op
        builder = KernelBuilder.like(op)
        if isinstance(op.parent_op(), scf.ForOp):  # other threads may still read the ring
            builder.insert(cuda.SyncThreadsOp())
        for copy in self._fetched_once():
            copy.is_async = UnitAttr()  # joins the first commit group
        steps = [builder.index(builder.add(op.lb, loop.step * n)) for n in range(self.ahead)]
        # B is usually a weight: `insert-waits` inserts its wait after these copies.
        right = loop.rhs_copies
        for stage, k in enumerate(steps):
            self._copy(builder, right, k, stage)
        for stage, k in enumerate(steps):
            self._copy(builder, [copy for copy in loop.copies if copy not in right], k, stage)
            builder.insert(cuda.CpAsyncCommitOp())
        if self.fragments:
            self._wait(builder)
            self._load_fragments(builder, builder.index(0), builder.index(0))
        set_unroll(op, NO_UNROLLING)
        builder.insertion_point = InsertPoint.at_start(op.body.block)
        self._build_step(builder)
        builder.insertion_point = InsertPoint.after(op)
        builder.insert(cuda.CpAsyncWaitOp(0))
        if self.is_async:
            for accumulator in loop.accumulators:
                wait_for_wgmma(builder, accumulator)
        for each in (*loop.copies, *loop.matmuls):
            rewriter.erase(each)
        for tile in self.rings:
            rewriter.erase(cast("Operation", tile.owner))

    def _fetched_once(self) -> Iterator[CopyOp]:
        """Yield the copies before the loop to tiles that only its matmuls read."""
        products = self.loop.matmuls
        for tile in {tile for op in products for tile in (op.lhs, op.rhs)}:
            copies = [use.operation for use in tile.uses if use.operation not in products]
            match copies:
                case [CopyOp() as copy] if copy.parent is self.loop.op.parent:
                    if copy.reads and can_be_async(copy):
                        yield copy
                case _:
                    pass

    def _build_step(self, builder: KernelBuilder) -> None:
        loop, op, b = self.loop, self.loop.op, builder
        variable = op.body.block.args[0]
        if not self.fragments:
            self._wait(b)
        number = b.index(b.div(b.index(b.subtract(variable, op.lb)), loop.step))
        now = b.index(b.mod(number, self.stages))
        if self.is_async:
            for product in loop.matmuls:
                loop.multiply(b, product, self.rings, now, is_async=True)
        ahead = b.index(b.add(variable, loop.step * self.ahead))
        free = b.index(b.mod(b.index(b.add(number, self.ahead)), self.stages))
        with b.when(b.less(ahead, op.ub)):
            self._copy(b, self.direct, ahead, free)
        loaded = self._load(b, ahead)
        b.insert(cuda.CpAsyncCommitOp())
        if self.fragments:
            b.insertion_point = InsertPoint.before(cast("Operation", op.body.block.last_op))
            with b.loop(loop.matmuls[0].depth - 1, unroll=True, name="k") as k:
                self._multiply_fragments(b)
                self._load_fragments(b, now, b.index(b.add(k, 1)))
        elif not self.is_async:
            for product in loop.matmuls:  # keep the order relative to other ops of the loop
                b.insertion_point = InsertPoint.before(product)
                loop.multiply(b, product, self.rings, now, is_async=False)
            b.insertion_point = InsertPoint.before(cast("Operation", op.body.block.last_op))
        if loaded:
            with b.when(b.less(ahead, op.ub)):
                for registers, copy in zip(loaded, self.computed, strict=True):
                    offsets = [free, b.index(0), b.index(0)]
                    b.insert(CopyOp(registers, [], self.rings[copy.tile], offsets, copy.worker))
        if self.is_async:
            b.insert(cuda.WgmmaWaitOp(loop.groups(self.pending)))
        if self.fragments:
            self._wait(b)
            self._multiply_fragments(b)
            has_next = b.less(b.add(variable, loop.step), op.ub)  # else load something unused
            following = b.index(b.mod(b.index(b.add(number, 1)), self.stages))
            stage = b.insert(arith.SelectOp(has_next, following, now)).result
            self._load_fragments(b, stage, b.index(0))

    def _wait(self, builder: KernelBuilder) -> None:
        """Wait for the copies to the next stage by all threads."""
        builder.insert(cuda.CpAsyncWaitOp(self.ahead - 1))
        if self.is_async:
            builder.insert(cuda.FenceProxyAsyncOp())
        builder.insert(cuda.SyncThreadsOp())

    def _load_fragments(self, builder: KernelBuilder, stage: SSAValue, k: SSAValue) -> None:
        """Load the fragments of one k of a stage."""
        for tile, fragment in self.fragments.items():
            start = [k if extent == 1 else builder.index(0) for extent in shape_of(fragment)]
            worker = self.loop.matmuls[0].worker
            builder.insert(CopyOp(self.rings[tile], [stage, *start], fragment, [], worker))

    def _multiply_fragments(self, builder: KernelBuilder) -> None:
        for op in self.loop.matmuls:
            lhs, rhs = self.fragments[op.lhs], self.fragments[op.rhs]
            builder.insert(MatmulOp(lhs, (), rhs, (), op.accumulator, op.worker))

    def _copy(
        self, builder: KernelBuilder, copies: Sequence[CopyOp], k: SSAValue, stage: Index
    ) -> None:
        """Copy the tiles of iteration k to a stage."""
        values = self.loop.at(builder, k)
        for op in copies:
            offsets = [values.get(offset, offset) for offset in op.source_offsets]
            place = [builder.index(stage)]
            copy = CopyOp(op.source, offsets, self.rings[op.tile], place, op.worker, op.map)
            copy.is_async = UnitAttr() if op in self.direct else None
            builder.insert(copy)

    def _load(self, builder: KernelBuilder, k: SSAValue) -> list[SSAValue]:
        """Load the computed tiles of iteration k to registers; return the register tiles."""
        found = [builder.register_tile(element_of(op.tile), op.tasks) for op in self.computed]
        if found:
            with builder.when(builder.less(k, self.loop.op.ub)):
                values = self.loop.at(builder, k)
                for registers, op in zip(found, self.computed, strict=True):
                    offsets = [values.get(offset, offset) for offset in op.source_offsets]
                    builder.insert(CopyOp(op.source, offsets, registers, [], op.worker))
        return found


def _fragments(loop: MatmulLoop) -> dict[SSAValue, SSAValue]:
    """Allocate a register tile for one k of each shared tile, if the loop can prefetch them.

    Its matmuls are by FMA, and their tiles contiguous along M and N, so that threads load vectors.
    """
    if not loop.is_pure or any(
        op.via
        or op.transposed
        or shared_layout_of(op.lhs).contiguous
        or not shared_layout_of(op.rhs).contiguous
        for op in loop.matmuls
    ):
        return {}
    builder = KernelBuilder.like(loop.op)
    maps = {
        tile: map_of(op.accumulator.type).project([dim], keep=True)
        for op in loop.matmuls
        for tile, dim in ((op.lhs, 1), (op.rhs, 0))
    }
    names = {tile: tile.name_hint and f"{tile.name_hint}_fragment" for tile in maps}
    return {t: builder.register_tile(element_of(t), maps[t], names[t]) for t in maps}


def can_be_async(op: CopyOp) -> bool:
    """Return whether cp.async can make a copy: unchanged global memory in runs of 4 bytes.

    Zero padding of images is not in global memory: threads store it to the tile.
    """
    kind = element_of(op.source)
    bits = kind.bitwidth if isinstance(kind, FixedBitwidthType) else 0
    last = op.tasks.repeat_digits[-1:]
    run = last[0].extent if last and last[0].stride == 1 and last[0].weight == 1 else 1
    return run * bits >= SMALLEST * 8 and _is_moved(op.source)


def _is_moved(source: SSAValue) -> bool:
    """Return whether a view has unchanged elements of global buffers, or constants."""
    if is_memref(source.type):
        return cuda.space_of(memref_type(source)) is cuda.Space.GLOBAL
    grid = source.owner
    return (
        isinstance(grid, GridOp)
        and is_view(grid)
        and all(load.result.type == element_of(source) for load in loads_of(grid))
        and all(_is_moved(load.source) for load in loads_of(grid))
    )


class PipelineCopiesPass(KernelPass):
    """Prefetch tiles of later iterations with cp.async into a multi-stage ring.

    Expects kernels of task ops on views with known maps, whose `config` has `stages`; kernels with
    one stage are left alone. The rings come with their waits and barriers, so `insert-barriers`
    ignores them. Rejects `wgmma` of tf32, whose tiles only TMA rounds.
    """

    name = "pipeline-copies"

    def run(self, kernel: cuda.KernelOp) -> None:
        """Pipeline the loops of one kernel."""
        for op in ops_of_class(kernel.body, MatmulOp):
            mma = op.instruction
            if op.is_async is None and op.can_be_async and mma and mma.kind == "tf32":
                raise ScheduleError(
                    f"{mma.ptx} truncates f32 to TF32, and threads copy its tiles as they are",
                    hint="windows that TMA can load, which rounds, or mma.sync",
                )
        rewrite_once(kernel.body, {scf.ForOp: pipeline_loop})
