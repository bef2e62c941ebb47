"""The template `gemv`: products with a few rows, at the speed at which memory gives the matrix."""

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
from hidet.lowering.templates.epilogue import anchor_tensors, products_of
from hidet.lowering.templates.gemv_sharing import Sharing, sharings
from hidet.lowering.templates.matmul import matrix_of
from hidet.lowering.templates.parts import fill, in_type_of, register_tile
from hidet.lowering.templates.problem import Problem
from hidet.mapping import TaskMap


class GemvTemplate(Template[Sharing]):
    """Threads load their parts of the right operand once, and multiply them by all rows at once.

    Nothing goes through shared memory but partial sums: several threads share an element of the
    product, each with some of k. The rows are so few that the loads of the right operand, which go
    to registers in vectors along what is contiguous in memory, are all that takes time.
    """

    name = "gemv"
    config = Sharing

    def accepts(self, fusion: FusionOp) -> bool:
        """Accept fusions with one product, whose right operand is not larger than what it reads."""
        products = [op for op in fusion.body.block.ops if isinstance(op, MatmulOp)]
        return len(products) == 1 and _stored_size(products[0].rhs) >= size_of(products[0].rhs)

    def configs(self, fusion: FusionOp, arch: Arch) -> Sequence[Sharing]:
        """Return the ways to share the work, the best estimate first; none for too many rows."""
        (anchor,) = products_of(fusion)
        rank = len(shape_of(anchor.rhs))
        run = contiguous_run(anchor.rhs, (rank - 2, rank - 1))
        along = "k" if run.dim == rank - 2 else "n"
        return sharings(Problem.of(anchor), along, run.length, arch)

    def launch(self, fusion: FusionOp, config: Sharing) -> Launch:
        """Return one block for some columns of each matrix of the batch, in one dimension."""
        problem = Problem.of(*products_of(fusion))
        return Launch((config.blocks(problem),), (config.threads,))

    def build(self, scope: KernelScope, fusion: FusionOp, config: Sharing) -> None:
        """Write the kernel's body."""
        gemv(*anchor_tensors(scope, fusion), Problem.of(*products_of(fusion)), config)


def _stored_size(view: SSAValue) -> int:
    """Return the elements of the largest tensor in memory that a view reads."""
    grid = view.owner
    if not isinstance(grid, GridOp):
        return size_of(view)
    return max((_stored_size(load.source) for load in loads_of(grid)), default=0)


@script
def gemv(lhs: Tensor, rhs: Tensor, product: Tensor, problem: Problem, choice: Sharing) -> None:
    """Multiply a few rows by a matrix, or batches of them: a block computes some columns."""
    batch, column = place_of_block(problem, choice)
    thread = threadIdx.x
    a, b, c = (matrix_of(operand, batch, product) for operand in (lhs, rhs, product))
    tasks = choice.tasks(problem.m)
    acc, x, w = tiles(lhs, rhs, product, tasks)
    fill(acc, 0, thread)
    # What is multiplied makes room for what comes next, which is then on its way for a whole step.
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
    """Add what each thread multiplies of two tiles to its sums."""
    for i, k, j in tasks.on(threadIdx.x):
        acc[i, j] += in_type_of(acc, x[i, k]) * in_type_of(acc, w[k, j])


def place_of_block(problem: Problem, choice: Sharing) -> tuple[Any, Any]:
    """Return the number of the block's matrix in the batch, and its first column."""
    blocks = ceil_div(problem.n, choice.width)
    return blockIdx.x // blocks, blockIdx.x % blocks * choice.width


def tiles(lhs: Tensor, rhs: Tensor, product: Tensor, tasks: TaskMap) -> tuple[Tensor, ...]:
    """Return what threads hold: sums, rows and the matrix, as far as they multiply them."""
    total = F32 if product.element.bits < F32.bits else product.element
    elements = (total, lhs.element, rhs.element)
    # Without one dimension the map of products is that of a tile: who multiplies has the factors.
    return tuple(
        register_tile(element, tasks.project([dropped]))
        for element, dropped in zip(elements, (1, 2, 0), strict=True)
    )


def place_among_sharers(choice: Sharing, thread: Scalar) -> Any:
    """Return the number of a thread among those that share its elements of the product."""
    return thread % choice.lanes if choice.along == "k" else thread // choice.groups
