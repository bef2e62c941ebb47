"""The template `matmul`: a block computes an output tile from tiles in shared memory."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from hidet.arch.chips import Arch
from hidet.dialects.compute import FusionOp
from hidet.dialects.graph import MatmulOp
from hidet.frontends.script.scalars import Index, Scalar, index_of
from hidet.frontends.script.tensors import Tensor
from hidet.lang import script, shared_tensor, task
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.lowering.templates.base import KernelScope, Launch, Template
from hidet.lowering.templates.blocking import Blocking
from hidet.lowering.templates.epilogue import (
    Tile,
    clone_views,
    epilogue_sink,
    matmuls_of,
    outputs_of,
    problem_of,
)
from hidet.lowering.templates.legality import Rejected
from hidet.lowering.templates.parts import fill, known, place, scalar, tensor, unmapped_tile
from hidet.lowering.templates.problem import Problem
from hidet.lowering.templates.tilings import candidates, fastest, refused


class MatmulTemplate(Template[Blocking]):
    """A block computes an output tile; tiles of both operands are staged in shared memory.

    The operands may be any views, including the im2col view of a convolution. The config selects
    the instruction; `map-tensor-cores` handles its layouts. For several matmuls with a common
    operand A, a block computes a tile of each.
    """

    name = "matmul"
    config = Blocking

    def accepts(self, fusion: FusionOp) -> bool:
        """Accept fusions of matmuls with a common operand A."""
        return len({op.lhs for op in fusion.body.block.ops if isinstance(op, MatmulOp)}) == 1

    def configs(self, fusion: FusionOp, arch: Arch) -> Sequence[Blocking]:
        """Return the tilings, best estimate first."""
        return candidates(problem_of(fusion), arch)

    def best(self, fusion: FusionOp, arch: Arch) -> Blocking | None:
        """Return the tiling with the best estimate."""
        return fastest(problem_of(fusion), arch)

    def rejected(self, fusion: FusionOp, arch: Arch) -> Sequence[Rejected]:
        """Return the tilings that the architecture cannot run."""
        return refused(problem_of(fusion), arch)

    def launch(self, fusion: FusionOp, config: Blocking) -> Launch:
        """Return one block per output tile of the batch, or fewer persistent blocks."""
        tiles = config.tiles(problem_of(fusion))
        return Launch((min(tiles, config.grid),), (config.threads,), config.residents)

    def build(self, scope: KernelScope, fusion: FusionOp, config: Blocking) -> None:
        """Build the kernel body."""
        problem = problem_of(fusion)
        clone_views(scope, fusion)
        matmul(Matmuls(scope, matmuls_of(fusion), config.shares(problem)), problem, config)


@dataclass(frozen=True)
class Matmuls:
    """The matmuls of a kernel, with a common operand A and a tile of `shares` columns each."""

    scope: KernelScope
    anchors: Sequence[MatmulOp]
    shares: Sequence[int]

    @property
    def lhs(self) -> Tensor:
        """Operand A."""
        return tensor(self.scope.views[self.anchors[0].lhs])

    @property
    def operands(self) -> list[Tensor]:
        """The B operands."""
        return [tensor(self.scope.views[anchor.rhs]) for anchor in self.anchors]

    @property
    def first(self) -> Tensor:
        """The result of the first matmul."""
        return tensor(self.anchors[0].result)

    def accumulators(self, rows: int) -> list[Tensor]:
        """Return an accumulator tile for each matmul."""
        return [
            _named("acc", unmapped_tile(self.first.dtype, rows, share)) for share in self.shares
        ]

    def tiles(self, depth: int) -> list[Tensor]:
        """Return a shared tile for each B operand."""
        element = self.lhs.dtype
        return [_named("sb", shared_tensor(element, [depth, share])) for share in self.shares]

    def columns(self, left: Index) -> list[Index]:
        """Return the first column of each tile, given the index of a tile column."""
        found = [left * share for share in self.shares]
        for column in found:
            if isinstance(column, Scalar):
                column.ssa.name_hint = "column"
        return found

    def matrices(self, batch: Index) -> list[list[Index]]:
        """Return the batch indices of each B operand."""
        return [matrix_of(operand, batch, self.first) for operand in self.operands]

    def fetch(
        self,
        tiles: Sequence[Tensor],
        matrices: Sequence[Sequence[Index]],
        k: Index,
        columns: Sequence[Index],
        on: Scalar,
    ) -> None:
        """Copy a tile of each B operand."""
        places = zip(self.operands, matrices, columns, tiles, strict=True)
        for operand, matrix, column, tile in places:
            task.copy(task.window(operand, *matrix, k, column), tile, on=on)

    def store(
        self,
        tiles: Sequence[Tensor],
        matrix: Sequence[Index],
        row: Index,
        columns: Sequence[Index],
        on: Scalar,
    ) -> None:
        """Store the tiles of all matmuls, of a matrix of the batch, through their epilogues."""
        known: dict[SSAValue, Tile] = {
            anchor.result: (tile, (row, column))
            for anchor, tile, column in zip(self.anchors, tiles, columns, strict=True)
        }
        for anchor, outputs in zip(self.anchors, outputs_of(self.scope, self.anchors), strict=True):
            if outputs:
                others = {value: each for value, each in known.items() if value != anchor.result}
                sink = tensor(epilogue_sink(self.scope, anchor, outputs, others))
                tile, first = known[anchor.result]
                task.copy(tile, task.window(sink, *matrix, *first), on=on)


def _named(name: str, tile: Tensor) -> Tensor:
    tile.memory.name_hint = name
    return tile


@script
def matmul(products: Matmuls, problem: Problem, choice: Blocking) -> None:
    """Multiply batches of matrices: each block computes one tile, or several in turn."""
    lhs = products.lhs
    accumulators = products.accumulators(choice.block_m)
    sa = shared_tensor(lhs.dtype, [choice.block_m, choice.block_k])
    sb = products.tiles(choice.block_k)
    tiles = choice.tiles(problem)
    place = place_of_block(choice)
    if tiles <= choice.grid:
        multiply_tile(place[0], place[1:], products, accumulators, sa, sb, problem, choice)
    else:
        for tile in range(place[0], tiles // choice.cluster, choice.grid // choice.cluster):
            multiply_tile(tile, place[1:], products, accumulators, sa, sb, problem, choice)


@script
def multiply_tile(
    number: Index,
    place: Sequence[Index],
    products: Matmuls,
    accumulators: Sequence[Tensor],
    sa: Tensor,
    sb: Sequence[Tensor],
    problem: Problem,
    choice: Blocking,
) -> None:
    """Compute one output tile of each matmul."""
    tiles_m, tiles_n = choice.clusters(problem)
    thread = threadIdx.x
    batch, tile = number // (tiles_m * tiles_n), number % (tiles_m * tiles_n)
    band = band_of(tiles_m)
    above = in_cluster(tile // (band * tiles_n) * band + tile % band, choice.cluster_rows, place[0])
    left = in_cluster(tile % (band * tiles_n) // band, choice.cluster_columns, place[1])
    row, columns = above * choice.block_m, products.columns(left)
    matrix, others = matrix_of(products.lhs, batch, products.first), products.matrices(batch)
    # Ahead of the loop, as loads of the epilogue may be.
    stored = [scalar(index_of(each)) for each in matrix_of(products.first, batch, products.first)]
    for acc in accumulators:
        fill(acc, 0, thread)
    for k0 in range(0, problem.k, choice.block_k):
        task.copy(task.window(products.lhs, *matrix, row, k0), sa, on=thread)
        products.fetch(sb, others, k0, columns, thread)
        for right, acc in zip(sb, accumulators, strict=True):
            task.matmul(sa, right, acc, on=thread)
    products.store(accumulators, stored, row, columns, thread)


def place_of_block(choice: Blocking) -> tuple[Index, Index, Index]:
    """Return the index of the block's cluster, and its row and column in it."""
    if choice.cluster == 1:
        return blockIdx.x, 0, 0
    rank, columns = blockIdx.x % choice.cluster, choice.cluster_columns
    row = rank // columns if choice.cluster_rows > 1 else 0
    return blockIdx.x // choice.cluster, row, rank % columns if columns > 1 else 0


def in_cluster(cluster: Index, extent: int, place: Index) -> Index:
    """Return the index of a tile row or column, from that of its cluster and a position in it."""
    return cluster if extent == 1 else cluster * extent + place


def band_of(tiles: int) -> int:
    """Return the number of tile rows of a band, which blocks traverse column by column.

    Concurrent blocks then share operand rows and columns in the L2 cache.
    """
    return max(rows for rows in range(1, BAND + 1) if tiles % rows == 0)


BAND = 8
"""The most tile rows of a band; with as many columns of 256, it covers the 132 multiprocessors of
an H200 about twice."""


def matrix_of(operand: Tensor, batch: Index, product: Tensor) -> list[Index]:
    """Return the batch indices of an operand; batch dimensions of extent 1 are broadcast."""
    batches, extents = known(product.shape[:-2]), known(operand.shape[:-2])
    indices = place(batch, batches)[len(batches) - len(extents) :]
    return [0 if extent == 1 else i for extent, i in zip(extents, indices, strict=True)]
