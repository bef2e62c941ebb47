"""The pass `inline-compute`: inlines views into their loads and stores."""

from functools import partial, reduce
from itertools import product
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.pattern_rewriter import PatternRewriter

from hidet.dialects.compute import GridOp, ReduceOp, SinkOp, StoreOp
from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.task import CopyOp
from hidet.errors import ScheduleError
from hidet.lowering.single_walk import rewrite_once
from hidet.lowering.task.expand import expand_copy
from hidet.rewriting.builder import KernelBuilder
from hidet.rewriting.inlining import inline_into_loads
from hidet.rewriting.kernel_pass import KernelPass


def expand_copy_of_view(op: CopyOp, rewriter: PatternRewriter) -> None:
    """A copy from or to a view becomes a foreach over its elements."""
    if isinstance(op.source.type, TensorType) or isinstance(op.target.type, TensorType):
        expand_copy(op)


def inline_sink(op: SinkOp, rewriter: PatternRewriter) -> None:
    """A store to a sink becomes the sink's body."""
    for use in list(op.result.uses):
        store = use.operation
        if not isinstance(store, StoreOp):
            raise ScheduleError(f"{store.name} of a compute.sink; only stores are allowed")
        KernelBuilder.like(store).splice(op.body, [*store.indices, store.value])
        rewriter.erase(store)
    rewriter.erase(op)


def inline_grid(op: GridOp, rewriter: PatternRewriter) -> None:
    """A load of a grid becomes the grid's body.

    Consumers are visited first: by then all loads of a grid exist.
    """
    inline_into_loads(op)
    for use in op.result.uses:
        raise ScheduleError(
            f"{use.operation.name} of a compute.grid in a kernel; only loads are allowed"
        )


SHORT = 4
"""The number of elements up to which a reduction is no loop, so that its loads can be vectors."""


def lower_reduce(op: ReduceOp, rewriter: PatternRewriter) -> None:
    """`compute.reduce` becomes a sequential loop with an accumulator variable, or an expression."""
    builder = KernelBuilder.like(op)
    if 0 < prod(op.shape) <= SHORT:
        elements = product(*map(range, op.shape))
        values = [builder.splice(op.body, [*map(builder.index, each)])[0] for each in elements]
        rewriter.replace(op, [], [reduce(partial(builder.combine, op.kind.data), values)])
        return
    total = builder.local_array(op.result.type, [], "total")
    builder.store(builder.neutral(op.kind.data, op.result.type), total)
    with builder.loops(op.shape) as indices:
        (value,) = builder.unwrap(op.body, indices)
        builder.store(builder.combine(op.kind.data, builder.load(total), value), total)
    rewriter.replace(op, [], [builder.load(total)])


class InlineComputePass(KernelPass):
    """Inline the views of a kernel.

    Expects kernels written against views: loads of grids, stores to sinks, copies of either. Leaves
    loads and stores of buffers, and no compute.grid, compute.sink or compute.reduce.
    """

    name = "inline-compute"

    def run(self, kernel: KernelOp) -> None:
        """Inline in one kernel."""
        rewrite_once(kernel.body, {CopyOp: expand_copy_of_view})
        rewrite_once(kernel.body, {SinkOp: inline_sink, GridOp: inline_grid}, backwards=True)
        rewrite_once(kernel.body, {ReduceOp: lower_reduce}, inner_first=True)
