"""Slices of K: the blocks of a cluster compute one tile, and each adds up some of its rows."""

from typing import cast

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation

from hidet.dialects.task.marks import RING
from hidet.errors import ScheduleError
from hidet.frontends.script.scalars import Index
from hidet.frontends.script.tensors import Tensor
from hidet.lang import script, shared_tensor, task
from hidet.lang.cuda import block_rank_in_cluster, cluster_sync, map_shared_rank, threadIdx
from hidet.lowering.templates.blocking import SUM_PADDING, Blocking
from hidet.lowering.templates.config import VECTOR
from hidet.lowering.templates.parts import known, register_tile
from hidet.lowering.templates.problem import Problem
from hidet.mapping import vector_map


def in_slice(k: Index, problem: Problem) -> Index:
    """Return an index along K, from that in the slice of the block."""
    return k if problem.slices == 1 else block_rank_in_cluster() * problem.depth + k


def rows_of_block(accumulator: Tensor, problem: Problem, choice: Blocking) -> Tensor:
    """Return a register tile for the rows of a tile that a block adds up and stores, in vectors.

    Raises:
        ScheduleError: the slices do not divide the rows of a tile, or are no multiple of its depth.
    """
    if choice.block_m % problem.slices or problem.depth % choice.block_k:
        raise ScheduleError(
            f"tiles of {choice.block_m} rows and {choice.block_k} along K for {problem.slices} "
            f"slices of {problem.depth}",
            hint="each slice has whole tiles, and each block stores as many rows of the result",
        )
    shape = choice.block_m // problem.slices, choice.block_n
    vector = VECTOR // accumulator.element.nbytes
    return register_tile(accumulator.element, vector_map(shape, 1, vector, choice.threads))


def first_row_of_block(total: Tensor) -> Index:
    """Return the first of the block's rows in the tile."""
    return block_rank_in_cluster() * known(total.shape)[0]


@script
def add_slices(accumulator: Tensor, total: Tensor, problem: Problem) -> None:
    """Add up the block's rows over all slices, in their order, through the memory of the cluster.

    The blocks wait for each other before they read; before they end, they have to do so again.
    """
    sums = _sums(accumulator)
    task.copy(accumulator, sums, on=threadIdx.x)
    cluster_sync()
    peers = [map_shared_rank(sums, rank) for rank in range(problem.slices)]
    first = first_row_of_block(total)
    for i, j in total.on(threadIdx.x):
        value = peers[0][first + i, j]
        for peer in peers[1:]:
            value += peer[first + i, j]
        total[i, j] = value


def _sums(accumulator: Tensor) -> Tensor:
    """Return a shared tile for the sums of a slice, which the barriers of the cluster protect."""
    rows, columns = known(accumulator.shape)
    tile = shared_tensor(accumulator.dtype, [rows, columns + SUM_PADDING])
    cast("Operation", tile.memory.owner).attributes[RING] = UnitAttr()
    tile.memory.name_hint = "sums"
    return tile
