"""The template `gemv`: memory-bound matmuls with few rows."""

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from hidet.analysis.contiguity import contiguous_run
from hidet.analysis.grids import loads_of
from hidet.arch.chips import Arch
from hidet.dialects.compute import FusionOp, GridOp
from hidet.dialects.graph import MatmulOp
from hidet.dialects.shaped import shape_of, size_of
from hidet.frontends.script.scalars import Scalar
from hidet.frontends.script.tensors import Tensor
from hidet.frontends.script.types import F32
from hidet.lang import script, task
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.lowering.templates.base import KernelScope, Launch, Template, ceil_div
from hidet.lowering.templates.epilogue import anchor_tensors, matmuls_of, problem_of
from hidet.lowering.templates.gemv_config import GemvConfig, candidates, is_bound_by_memory
from hidet.lowering.templates.matmul import matrix_of
from hidet.lowering.templates.parts import fill, in_type_of, register_tile
from hidet.lowering.templates.problem import Problem
from hidet.mapping import TaskMap


class GemvTemplate(Template[GemvConfig]):
    """Each thread loads its part of operand B once, and multiplies it with all rows.

    Several threads share an output element, each with a part of K; only partial sums go through
    shared memory. The kernel is bound by the loads of B, which are vectorized along its contiguous
    dimension and go to registers.
    """

    name = "gemv"
    config = GemvConfig

    def accepts(self, fusion: FusionOp) -> bool:
        """Accept fusions with one matmul whose B operand is no larger than its source."""
        products = [op for op in fusion.body.block.ops if isinstance(op, MatmulOp)]
        return len(products) == 1 and _stored_size(products[0].rhs) >= size_of(products[0].rhs)

    def configs(self, fusion: FusionOp, arch: Arch) -> Sequence[GemvConfig]:
        """Return the configs, best estimate first; none for too many rows."""
        (anchor,) = matmuls_of(fusion)
        problem = problem_of(fusion)
        if not is_bound_by_memory(problem, arch):
            return []
        rank = len(shape_of(anchor.rhs))
        run = contiguous_run(anchor.rhs, (rank - 2, rank - 1))
        along = "k" if run.dim == rank - 2 else "n"
        return candidates(problem, along, run.length, arch)

    def launch(self, fusion: FusionOp, config: GemvConfig) -> Launch:
        """Return a one-dimensional grid with a block per column group of each matrix."""
        problem = problem_of(fusion)
        return Launch((config.blocks(problem),), (config.threads,))

    def build(self, scope: KernelScope, fusion: FusionOp, config: GemvConfig) -> None:
        """Build the kernel body."""
        gemv(*anchor_tensors(scope, fusion), problem_of(fusion), config)


def _stored_size(view: SSAValue) -> int:
    """Return the size of the largest tensor in memory that a view reads."""
    grid = view.owner
    if not isinstance(grid, GridOp):
        return size_of(view)
    return max((_stored_size(load.source) for load in loads_of(grid)), default=0)


@script
def gemv(lhs: Tensor, rhs: Tensor, product: Tensor, problem: Problem, choice: GemvConfig) -> None:
    """Multiply a few rows by batches of matrices: a block computes some columns."""
    batch, column = place_of_block(problem, choice)
    thread = threadIdx.x
    a, b, c = (matrix_of(operand, batch, product) for operand in (lhs, rhs, product))
    tasks = choice.tasks(problem.m)
    acc, x, w = tiles(lhs, rhs, product, tasks)
    fill(acc, 0, thread)
    # Software pipelining: the loads of the next iteration are in flight during one.
    task.copy(task.window(rhs, *b, 0, column), w, on=thread)
    for k0 in range(0, problem.k - choice.depth, choice.depth):
        task.copy(task.window(lhs, *a, 0, k0), x, on=thread)
        add_products(x, w, acc, tasks)
        task.copy(task.window(rhs, *b, k0 + choice.depth, column), w, on=thread)
    last = (problem.k - 1) // choice.depth * choice.depth
    task.copy(task.window(lhs, *a, 0, last), x, on=thread)
    add_products(x, w, acc, tasks)
    task.combine(acc, "add", on=thread)
    for i, j in acc.on(thread):
        if place_among_sharers(choice, thread) < 1 and column + j < problem.n:
            product[(*c, i, column + j)] = in_type_of(product, acc[i, j])


@script
def add_products(x: Tensor, w: Tensor, acc: Tensor, tasks: TaskMap) -> None:
    """Accumulate the products of each thread."""
    for i, k, j in tasks.on(threadIdx.x):
        acc[i, j] += in_type_of(acc, x[i, k]) * in_type_of(acc, w[k, j])


def place_of_block(problem: Problem, choice: GemvConfig) -> tuple[Any, Any]:
    """Return the batch index of the block, and its first column."""
    blocks = ceil_div(problem.n, choice.width)
    return blockIdx.x // blocks, blockIdx.x % blocks * choice.width


def tiles(lhs: Tensor, rhs: Tensor, product: Tensor, tasks: TaskMap) -> tuple[Tensor, ...]:
    """Return the register tiles: accumulators, rows and matrix."""
    total = F32 if product.element.bits < F32.bits else product.element
    elements = (total, lhs.element, rhs.element)
    # The map of products without one dimension is that of a tile.
    return tuple(
        register_tile(element, tasks.project([dropped]))
        for element, dropped in zip(elements, (1, 2, 0), strict=True)
    )


def place_among_sharers(choice: GemvConfig, thread: Scalar) -> Any:
    """Return the index of a thread among those that share an output element."""
    return thread % choice.lanes if choice.along == "k" else thread // choice.groups
