"""The template `matmul`: a block computes a tile of the product out of shared memory."""

from __future__ import annotations

from collections.abc import Sequence

from hidet.arch.chips import Arch
from hidet.dialects.compute import FusionOp
from hidet.dialects.graph import MatmulOp
from hidet.frontends.script.values import Index, Tensor
from hidet.lang import script, shared_tensor, task
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.lowering.templates.base import KernelScope, Launch, Template
from hidet.lowering.templates.blocking import Blocking, Problem, candidates, refused
from hidet.lowering.templates.epilogue import anchor_of, anchor_tensors, product_of
from hidet.lowering.templates.legality import Rejected
from hidet.lowering.templates.parts import fill, known, place, unmapped_tile


class MatmulTemplate(Template[Blocking]):
    """A block computes a tile of the product; tiles of both operands go through shared memory.

    The operands may be any views: the im2col view of a convolution too. Which instruction sums the
    products is a part of the config; what it needs is `map-tensor-cores`' to know.
    """

    name = "matmul"
    config = Blocking

    def accepts(self, fusion: FusionOp) -> bool:
        """Accept fusions with one product of matrices."""
        return isinstance(anchor_of(fusion), MatmulOp)

    def configs(self, fusion: FusionOp, arch: Arch) -> Sequence[Blocking]:
        """Return the ways to cut the product into blocks, the best estimate first."""
        return candidates(Problem.of(product_of(fusion)), arch)

    def rejected(self, fusion: FusionOp, arch: Arch) -> Sequence[Rejected]:
        """Return the blockings whose tiles do not fit."""
        return refused(Problem.of(product_of(fusion)), arch)

    def launch(self, fusion: FusionOp, config: Blocking) -> Launch:
        """Return one block for each tile of each matrix of the batch, or fewer that stay."""
        tiles = config.tiles(Problem.of(product_of(fusion)))
        return Launch((min(tiles, config.grid),), (config.threads,), config.residents)

    def build(self, scope: KernelScope, fusion: FusionOp, config: Blocking) -> None:
        """Write the kernel's body."""
        matmul(*anchor_tensors(scope, fusion), Problem.of(product_of(fusion)), config)


@script
def matmul(lhs: Tensor, rhs: Tensor, product: Tensor, problem: Problem, choice: Blocking) -> None:
    """Multiply matrices, or batches of them: a block computes tiles of products, one by one."""
    acc = unmapped_tile(product.dtype, choice.block_m, choice.block_n)
    sa = shared_tensor(lhs.dtype, [choice.block_m, choice.block_k])
    sb = shared_tensor(rhs.dtype, [choice.block_k, choice.block_n])
    tiles = choice.tiles(problem)
    place = place_of_block(choice)
    if tiles <= choice.grid:
        multiply_tile(place[0], place[1:], lhs, rhs, product, acc, sa, sb, problem, choice)
    else:
        for tile in range(place[0], tiles // choice.cluster, choice.grid // choice.cluster):
            multiply_tile(tile, place[1:], lhs, rhs, product, acc, sa, sb, problem, choice)


@script
def multiply_tile(
    number: Index,
    place: Sequence[Index],
    lhs: Tensor,
    rhs: Tensor,
    product: Tensor,
    acc: Tensor,
    sa: Tensor,
    sb: Tensor,
    problem: Problem,
    choice: Blocking,
) -> None:
    """Compute one tile of one product: the one at this block's place, of those of a cluster."""
    tiles_m, tiles_n = choice.clusters(problem)
    thread = threadIdx.x
    batch, tile = number // (tiles_m * tiles_n), number % (tiles_m * tiles_n)
    band = band_of(tiles_m)
    above = in_cluster(tile // (band * tiles_n) * band + tile % band, choice.cluster_rows, place[0])
    left = in_cluster(tile % (band * tiles_n) // band, choice.cluster_columns, place[1])
    row, column = above * choice.block_m, left * choice.block_n
    a, b, c = (matrix_of(operand, batch, product) for operand in (lhs, rhs, product))
    fill(acc, 0, thread)
    for k0 in range(0, problem.k, choice.block_k):
        task.copy(task.window(lhs, *a, row, k0), sa, on=thread)
        task.copy(task.window(rhs, *b, k0, column), sb, on=thread)
        task.matmul(sa, sb, acc, on=thread)
    task.copy(acc, task.window(product, *c, row, column), on=thread)


def place_of_block(choice: Blocking) -> tuple[Index, Index, Index]:
    """Return the number of the block's cluster, and its row and column there."""
    if choice.cluster == 1:
        return blockIdx.x, 0, 0
    rank, columns = blockIdx.x % choice.cluster, choice.cluster_columns
    row = rank // columns if choice.cluster_rows > 1 else 0
    return blockIdx.x // choice.cluster, row, rank % columns if columns > 1 else 0


def in_cluster(cluster: Index, extent: int, place: Index) -> Index:
    """Return the number of a row or column of tiles: of those of a cluster, the one at a place."""
    return cluster if extent == 1 else cluster * extent + place


def band_of(tiles: int) -> int:
    """Return of how many rows of tiles a band consists, through which blocks go column by column.

    Blocks that work side by side so share rows and columns of the operands, in the L2 cache.
    """
    return max(rows for rows in range(1, BAND + 1) if tiles % rows == 0)


BAND = 8
"""The most rows of tiles of a band; as many columns of 256 fill the 132 multiprocessors of an H200
about twice."""


def matrix_of(operand: Tensor, batch: Index, product: Tensor) -> list[Index]:
    """Return the leading indices of an operand; a batch dimension of 1 is broadcast."""
    batches, extents = known(product.shape[:-2]), known(operand.shape[:-2])
    indices = place(batch, batches)[len(batches) - len(extents) :]
    return [0 if extent == 1 else i for extent, i in zip(extents, indices, strict=True)]
