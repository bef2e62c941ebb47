"""The template `matmul`: a block computes a tile of the product out of shared memory."""

from __future__ import annotations

from collections.abc import Sequence

from hidet.analysis.grids import loads_of
from hidet.arch.chips import Arch
from hidet.dialects.compute import FusionOp, GridOp
from hidet.dialects.graph import MatmulOp
from hidet.frontends.script.values import Index, Tensor
from hidet.lang import script, shared_tensor, task
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.lowering.templates.base import KernelScope, Launch, Template, ceil_div
from hidet.lowering.templates.blocking import Blocking, Problem, candidates, refused
from hidet.lowering.templates.epilogue import anchor_of, epilogue_sink
from hidet.lowering.templates.legality import Rejected
from hidet.lowering.templates.parts import accumulator, fill, known, place, tensor


class MatmulTemplate(Template[Blocking]):
    """A block computes a tile of the product; tiles of both operands go through shared memory.

    The operands may be any views: the im2col view of a convolution too. Which instruction sums the
    products is a part of the config; what it needs is `map-tensor-cores`' to know.
    """

    name = "matmul"
    config = Blocking

    def accepts(self, fusion: FusionOp) -> bool:
        """Accept fusions with one product of matrices."""
        return sum(isinstance(op, MatmulOp) for op in fusion.body.block.ops) == 1

    def configs(self, fusion: FusionOp, arch: Arch) -> Sequence[Blocking]:
        """Return the ways to cut the product into blocks, the best estimate first."""
        return candidates(Problem.of(anchor_of(fusion)), arch)

    def rejected(self, fusion: FusionOp, arch: Arch) -> Sequence[Rejected]:
        """Return the blockings whose tiles do not fit."""
        return refused(Problem.of(anchor_of(fusion)), arch)

    def launch(self, fusion: FusionOp, config: Blocking) -> Launch:
        """Return one block for each tile of each matrix of the batch, in one dimension."""
        return Launch((config.blocks(Problem.of(anchor_of(fusion))),), (config.threads,))

    def build(self, scope: KernelScope, fusion: FusionOp, config: Blocking) -> None:
        """Write the kernel's body."""
        anchor = anchor_of(fusion)
        for op in fusion.body.block.ops:
            if isinstance(op, GridOp) and not loads_of(op, anchor.result):
                scope.clone(op)
        lhs, rhs = (tensor(scope.views[operand]) for operand in (anchor.lhs, anchor.rhs))
        result = tensor(epilogue_sink(scope, anchor))
        matmul(lhs, rhs, result, Problem.of(anchor), config)


@script
def matmul(lhs: Tensor, rhs: Tensor, product: Tensor, problem: Problem, choice: Blocking) -> None:
    """Multiply matrices, or batches of them: a block computes one tile of one product."""
    tile_m, tile_n = choice.block_m, choice.block_n
    tiles_m, tiles_n = ceil_div(problem.m, tile_m), ceil_div(problem.n, tile_n)
    thread = threadIdx.x
    batch = blockIdx.x // (tiles_m * tiles_n)
    row = blockIdx.x // tiles_n % tiles_m * tile_m
    column = blockIdx.x % tiles_n * tile_n

    acc = accumulator(product, tile_m, tile_n)
    sa = shared_tensor(lhs.dtype, [tile_m, choice.block_k])
    sb = shared_tensor(rhs.dtype, [choice.block_k, tile_n])
    a, b, c = (matrix_of(operand, batch, product) for operand in (lhs, rhs, product))
    fill(acc, 0, thread)
    for k0 in range(0, problem.k, choice.block_k):
        task.copy(task.window(lhs, *a, row, k0), sa, on=thread)
        task.copy(task.window(rhs, *b, k0, column), sb, on=thread)
        task.matmul(sa, sb, acc, on=thread)
    task.copy(acc, task.window(product, *c, row, column), on=thread)


def matrix_of(operand: Tensor, batch: Index, product: Tensor) -> list[Index]:
    """Return the leading indices of an operand; a batch dimension of 1 is broadcast."""
    batches, extents = known(product.shape[:-2]), known(operand.shape[:-2])
    indices = place(batch, batches)[len(batches) - len(extents) :]
    return [0 if extent == 1 else i for extent, i in zip(extents, indices, strict=True)]
