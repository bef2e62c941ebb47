"""The pass `prefetch-operands`: loads epilogue operands to registers before the matmul loop."""

from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.analysis.windows import Window, windows_read
from hidet.arch.limits import REGISTER_BYTES
from hidet.dialects.compute import GridOp, LoadOp, SinkOp, YieldOp
from hidet.dialects.cuda import KernelOp
from hidet.dialects.shaped import bytes_of, element_of, is_memref, shape_of
from hidet.dialects.task import CopyOp, map_of
from hidet.lowering.single_walk import rewrite_once
from hidet.lowering.task.matmul_loops import loop_ahead_of
from hidet.lowering.task.stage_epilogue import staged_residual
from hidet.mapping import TaskMap
from hidet.rewriting.builder import KernelBuilder
from hidet.rewriting.kernel_pass import KernelPass

MAX_REGISTERS = 192
"""The registers of a thread for accumulators and prefetched operands, of 255; the rest holds
addresses and operand fragments."""


def prefetch_operands(op: CopyOp, rewriter: PatternRewriter) -> None:
    """A copy of an accumulator to a sink: loads of the sink move before the matmul loop.

        for k { ... task.matmul %sa, %sb to %acc }
        task.copy %acc to sink (%i, %j, %v) { store %v + load %r[%i, %j], %out[%i, %j] }

    becomes, with a register tile `%tile` that is distributed as `%acc` is,

        task.copy %r[%row, %column] to %tile
        for k { ... task.matmul %sa, %sb to %acc }
        task.copy %acc to sink (%i, %j, %v) { store %v + load %tile[...], %out[%i, %j] }

    Operands that depend on the column alone have one row. Operands of all rows are prefetched
    first, as long as registers suffice. A residual that `stage-epilogue` stages is left alone.
    """
    sink, loop = op.target.owner, loop_ahead_of(op)
    if loop is None or not isinstance(sink, SinkOp) or not is_memref(op.source.type):
        return
    taken = sum(_registers(element_of(s), map_of(s.type)) for s in loop.accumulators)
    builder = KernelBuilder.like(loop.op)
    staged, tasks = staged_residual(op, sink), map_of(op.source.type)
    left = staged and staged[0]
    operands = [
        _Operand(load, window, tasks)
        for load, window in windows_read(sink)
        if load is not left and window.strides[-1]  # depends on the column
    ]
    for operand in sorted(operands, key=_Operand.is_row):
        taken += operand.registers
        if taken > MAX_REGISTERS:
            break
        operand.prefetch(builder, sink, op)


@dataclass(frozen=True)
class _Operand:
    """A load in a sink."""

    load: LoadOp
    window: Window
    tasks: TaskMap

    def is_row(self) -> bool:
        """Return whether all rows of a tile read the same elements."""
        return self.window.strides[-2] == 0

    @property
    def spread(self) -> TaskMap:
        """The map of the prefetched tile."""
        return self.tasks.project([0], keep=True) if self.is_row() else self.tasks

    @property
    def registers(self) -> int:
        """The registers of a thread for the tile."""
        return _registers(self.load.result.type, self.spread)

    def prefetch(self, builder: KernelBuilder, sink: SinkOp, copy: CopyOp) -> None:
        """Copy the loaded elements to a register tile, and load from that."""
        value = self.load.result
        tile = builder.register_tile(value.type, self.spread, value.name_hint)
        view = builder.insert(self._view(sink))
        *lead, row, column = copy.target_offsets
        first = [*lead, builder.index(0) if self.is_row() else row, column]
        builder.insert(CopyOp(view, first, tile, [], copy.worker))
        inside = KernelBuilder.like(self.load)
        i, j = sink.indices[-2:]
        place = [0 if self.is_row() else inside.subtract(i, row), inside.subtract(j, column)]
        value.replace_all_uses_with(inside.load(tile, place))
        Rewriter.erase_op(self.load)

    def _view(self, sink: SinkOp) -> GridOp:
        """Return the view of all elements that the load reads."""
        shape = [*shape_of(sink.result)]
        if self.is_row():
            shape[-2] = 1
        view = GridOp(TensorType(self.load.result.type, shape))
        values = dict(zip(sink.indices, view.indices, strict=True))
        builder = KernelBuilder(InsertPoint.at_end(view.body.block))
        for op in _needed(self.load):
            builder.insert(op.clone(values))
        builder.insert(YieldOp(values[self.load.result]))
        return view


def _needed(op: Operation) -> list[Operation]:
    """Return an op and its producers in the block, in order."""
    wanted = {op}
    block = op.parent
    assert block is not None
    for each in reversed(list(block.ops)):
        if each in wanted:
            wanted.update(v.owner for v in each.operands if isinstance(v.owner, Operation))
    return [each for each in block.ops if each in wanted]


def _registers(element: Attribute, tasks: TaskMap) -> int:
    """Return the registers of a thread for its elements of a tile."""
    return tasks.tasks_per_worker * bytes_of(element) // REGISTER_BYTES


class PrefetchOperandsPass(KernelPass):
    """Load epilogue operands to registers before the matmul loop, to hide their latency.

    Expects kernels of task ops on views, with known maps. Matches copies of tensor core
    accumulators to sinks that load from global memory at indices affine in row and column: a
    residual, a bias, a scale. Conditional loads are left alone.
    """

    name = "prefetch-operands"

    def run(self, kernel: KernelOp) -> None:
        """Prefetch the operands of one kernel."""
        rewrite_once(kernel.body, {CopyOp: prefetch_operands})
