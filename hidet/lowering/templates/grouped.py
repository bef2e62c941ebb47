"""The template `grouped`: matmuls of consecutive groups of rows, each with its own matrix."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from hidet.arch.chips import Arch
from hidet.dialects.compute import FusionOp
from hidet.dialects.graph import GroupedMatmulOp
from hidet.dialects.shaped import shape_of
from hidet.frontends.script.mathematics import maximum, minimum
from hidet.frontends.script.scalars import index_of
from hidet.frontends.script.tensors import Tensor
from hidet.lang import script, shared_tensor, task
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.lowering.templates.base import KernelScope, Launch, Template, ceil_div
from hidet.lowering.templates.blocking import DIRECT, Blocking
from hidet.lowering.templates.config import COOPERATIVE, MAX_CHOICE
from hidet.lowering.templates.epilogue import accepted, anchor_of, anchor_tensors
from hidet.lowering.templates.parts import fill, in_type_of, scalar, unmapped_tile
from hidet.lowering.templates.problem import Problem
from hidet.lowering.templates.tilings import candidates


class GroupedTemplate(Template[Blocking]):
    """A block computes some columns of a group, for every so many tiles of its rows.

    How many rows a group has is known only at run time. So the grid has some blocks for each column
    tile of each group, `parts_of`: enough for the tiles of most groups; those of larger groups
    compute several in turn, those without one end at once. Blocks of the same columns are adjacent,
    so that all but the first find their matrix in the L2 cache.
    """

    name = "grouped"
    config = Blocking

    def accepts(self, fusion: FusionOp) -> bool:
        """Accept fusions whose anchor is a grouped matmul."""
        return isinstance(anchor_of(fusion), GroupedMatmulOp)

    def configs(self, fusion: FusionOp, arch: Arch) -> Sequence[Blocking]:
        """Return the best tiling of a batch of matmuls, with as many rows as most groups have.

        There is nothing to tune: what a tuner measures depends on the sizes of its groups.
        """
        plain = filter(_is_plain, candidates(_problem(fusion), arch))
        return list(islice(plain, 1))

    def launch(self, fusion: FusionOp, config: Blocking) -> Launch:
        """Return some blocks per column tile of each group."""
        groups, _, columns = shape_of(accepted(fusion, GroupedMatmulOp).rhs)
        parts = parts_of(_problem(fusion), config)
        blocks = groups * ceil_div(columns, config.block_n) * parts
        return Launch((blocks,), (config.threads,), config.residents)

    def build(self, scope: KernelScope, fusion: FusionOp, config: Blocking) -> None:
        """Build the kernel body."""
        problem = _problem(fusion)
        multiply_group(*anchor_tensors(scope, fusion), problem, config)


def _problem(fusion: FusionOp) -> Problem:
    return Problem.of_groups(accepted(fusion, GroupedMatmulOp))


def _is_plain(choice: Blocking) -> bool:
    """Return whether a block stores tiles from registers, on its own, in the order of the grid."""
    is_alone = choice.cluster == 1 and choice.grid == MAX_CHOICE
    return is_alone and choice.epilogue == DIRECT and choice.schedule == COOPERATIVE


@script
def multiply_group(
    lhs: Tensor, rhs: Tensor, ends: Tensor, product: Tensor, problem: Problem, choice: Blocking
) -> None:
    """Compute some columns of a group; the last group stores zeros behind its end."""
    thread = threadIdx.x
    group, column, part = place_of_block(problem, choice)
    rows, last = lhs.shape[0], rhs.shape[0] - 1
    begin = end_of_group(ends, group - 1, rows) if group > 0 else 0
    end = end_of_group(ends, group, rows)
    stop = rows if group == last else end
    sa = shared_tensor(lhs.dtype, [choice.block_m, choice.block_k])
    sb = shared_tensor(lhs.dtype, [choice.block_k, choice.block_n])
    acc = unmapped_tile(product.dtype, choice.block_m, choice.block_n)
    step = parts_of(problem, choice) * choice.block_m
    for row in range(begin + part * choice.block_m, stop, step):
        fill(acc, 0, thread)
        for k0 in range(0, problem.k, choice.block_k):
            task.copy(task.window(lhs, row, k0), sa, on=thread)
            task.copy(task.window(rhs, group, k0, column), sb, on=thread)
            task.matmul(sa, sb, acc, on=thread)
        if group == last:
            for i, j in acc.on(thread):
                acc[i, j] = acc[i, j] if row + i < end else 0.0
        for i, j in acc.on(thread):
            if (row + i < stop) & (column + j < problem.n):
                product[row + i, column + j] = in_type_of(product, acc[i, j])


def parts_of(problem: Problem, choice: Blocking) -> int:
    """Return the number of blocks that share the rows of a group."""
    return max(PARTS, ceil_div(problem.m, choice.block_m))


PARTS = 2
"""The least number, for groups that are larger than most. With 128 groups whose sizes fall as 1/i,
one block took 7% longer and four as long; for equal groups, four took 1 to 3% longer (H200)."""


def place_of_block(problem: Problem, choice: Blocking) -> tuple[Any, Any, Any]:
    """Return the group of a block, its first column, and its number among those that share them."""
    parts = parts_of(problem, choice)
    columns = ceil_div(problem.n, choice.block_n)
    tile = blockIdx.x // parts
    return tile // columns, tile % columns * choice.block_n, blockIdx.x % parts


def end_of_group(ends: Tensor, group: Any, rows: Any) -> Any:
    """Return the end of a group, which is in bounds whatever the tensor says."""
    return maximum(minimum(scalar(index_of(ends[group])), rows), 0)
