"""Collective ops are reached by all threads of their group: under uniform control flow only."""

from xdsl.ir import Block, Operation

from hidet.analysis.divergence import Divergence, DivergenceAnalysis, analyse_divergence
from hidet.dialects.cuda import KernelOp, ShflOp, SyncWarpOp, VoteOp
from hidet.dialects.cuda.instructions import Collective, WarpCollective
from hidet.dialects.cuda.marks import EXPLICIT
from hidet.dialects.task import CombineOp, CopyOp, ForeachOp, GroupOp, MatmulOp
from hidet.dialects.walking import blocks_in
from hidet.legality.report import illegal


def check_uniformity(kernel: KernelOp) -> None:
    """Check that no collective op of a kernel stands where only some of its threads come by.

    Task ops and barriers of the block need all threads; shuffles, votes, barriers and products of
    a warp all lanes, but for those with a mask, which says who comes. In a kernel marked
    `cuda.explicit` a `task.foreach` is a loop of each thread.
    """
    explicit = EXPLICIT in kernel.attributes
    if not any(_group_of(op, explicit) is not None for op in kernel.body.walk()):
        return
    divergence = analyse_divergence(kernel)
    _check_block(kernel.body.block, divergence, explicit, None, Divergence.NOWHERE)


def _group_of(op: Operation, explicit: bool) -> Divergence | None:
    """Return among whom control flow must not vary around an op: the least that is too much."""
    if explicit and isinstance(op, ForeachOp):
        return None
    if isinstance(op, ShflOp | SyncWarpOp | VoteOp) and op.mask is not None:
        return None  # some lanes, which the mask names
    if isinstance(op, ShflOp | SyncWarpOp | VoteOp) or op.has_trait(WarpCollective):
        return Divergence.BETWEEN_LANES
    if isinstance(op, ForeachOp | CopyOp | MatmulOp | CombineOp | GroupOp) or op.has_trait(
        Collective
    ):
        return Divergence.BETWEEN_WARPS
    return None


def _check_block(
    block: Block,
    divergence: DivergenceAnalysis,
    explicit: bool,
    cause: Operation | None,
    outside: Divergence,
) -> None:
    """Check the ops of a block, given the op around it that makes the control flow diverge."""
    for op in block.ops:
        group = _group_of(op, explicit)
        if group is not None and outside >= group:
            assert cause is not None, "what diverges has a cause"
            raise illegal(
                op,
                f"{op.name} is collective, but not all threads come by: {cause.name} around it "
                "depends on cuda.thread_id",
                "take it out of there, or make the condition the same for all threads",
            )
        inside = divergence.of_flow(op)
        for inner in blocks_in(op):
            if inside > outside:
                _check_block(inner, divergence, explicit, op, inside)
            else:
                _check_block(inner, divergence, explicit, cause, outside)
