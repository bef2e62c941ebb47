"""The pass `map-copies`: assigns task maps to copies of shared tiles."""

from xdsl.pattern_rewriter import PatternRewriter

from hidet.analysis.contiguity import contiguous_run
from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.shaped import shape_of
from hidet.dialects.task import CopyOp, TaskMapAttr, shared_layout_of
from hidet.lowering.single_walk import rewrite_once
from hidet.lowering.task.groups import workers_of
from hidet.mapping import vector_map
from hidet.rewriting.kernel_pass import KernelPass


def map_copy(op: CopyOp, rewriter: PatternRewriter) -> None:
    """A copy with the map `?` is distributed over all workers, coalesced in global memory.

    Each lane copies a vector if both sides are contiguous and the tile is divisible by vectors.
    """
    if op.map is None or op.map.data is not None:
        return
    workers = workers_of(op)
    shape = shape_of(op.tile)[len(op.tile_offsets) :]
    rank = len(shape_of(op.other))
    run = contiguous_run(op.other, range(rank - len(shape), rank))
    dim = run.dim - (rank - len(shape))
    contiguous = len(shape) - 2 + shared_layout_of(op.tile).contiguous
    length = run.length if dim == contiguous else 1
    op.map = TaskMapAttr(vector_map(shape, dim, length, workers))


class MapCopiesPass(KernelPass):
    """Assign task maps to copies of shared tiles.

    Expects task ops on views, with the shared layouts that `map-tensor-cores` chose; leaves no copy
    with the map `?`. Adjacent lanes copy adjacent vectors of global memory.
    """

    name = "map-copies"

    def run(self, kernel: KernelOp) -> None:
        """Map the copies of one kernel."""
        rewrite_once(kernel.body, {CopyOp: map_copy})
