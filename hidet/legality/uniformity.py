"""Checks of convergence: collective ops are under uniform control flow."""

from xdsl.ir import Operation

from hidet.analysis.divergence import Divergence, analyse_divergence, divergent_op_around
from hidet.dialects.cuda import Collective, KernelOp, ShflOp, SyncWarpOp, VoteOp, WarpCollective
from hidet.dialects.cuda.marks import EXPLICIT
from hidet.dialects.task import CombineOp, CopyOp, ForeachOp, GroupOp, MatmulOp, known_map_of
from hidet.legality.report import illegal


def check_uniformity(kernel: KernelOp) -> None:
    """Check that no collective op of a kernel is under divergent control flow.

    Task ops and block barriers need all threads; shuffles, votes, warp barriers and warp matmuls
    need all lanes, or those in their mask. In a kernel marked `cuda.explicit`, `task.foreach` is a
    per-thread loop.
    """
    explicit = EXPLICIT in kernel.attributes
    groups = {op: group for op in kernel.body.walk() if (group := _group_of(op, explicit))}
    if not groups:
        return
    divergence = analyse_divergence(kernel)
    for op, group in groups.items():
        cause = divergent_op_around(op, divergence)
        if cause is not None and divergence.of_flow(cause) >= group:
            raise illegal(
                op,
                f"{op.name} is collective, but under divergent control flow: "
                f"{cause.name} around it depends on cuda.thread_id",
                "move it out, or make the condition uniform",
            )


def _group_of(op: Operation, explicit: bool) -> Divergence | None:
    """Return the least divergence of control flow that is illegal around an op."""
    if isinstance(op, ForeachOp) and (explicit or _is_per_thread(op)):
        return None
    if isinstance(op, ShflOp | SyncWarpOp | VoteOp):  # with a mask, only the lanes in it
        return Divergence.BETWEEN_LANES if op.mask is None else None
    if op.has_trait(WarpCollective):
        return Divergence.BETWEEN_LANES
    is_task = isinstance(op, ForeachOp | CopyOp | MatmulOp | CombineOp | GroupOp)
    return Divergence.BETWEEN_WARPS if is_task or op.has_trait(Collective) else None


def _is_per_thread(op: ForeachOp) -> bool:
    """Return whether all workers have all tasks, in a map that is known already."""
    tasks = op.tasks if op.tile is None else known_map_of(op.tile)
    return tasks is not None and not tasks.spatial_digits
