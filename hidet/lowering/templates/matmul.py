"""The template `matmul`: a block computes a tile of the product out of shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from hidet.analysis.grids import loads_of
from hidet.arch.chips import Arch
from hidet.dialects.compute import FusionOp, GridOp
from hidet.dialects.graph import MatmulOp
from hidet.dialects.shaped import shape_of
from hidet.frontends.script.values import Index, Tensor
from hidet.lang import auto_map, register_tensor, repeat, script, shared_tensor, spatial, task
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.lowering.templates.base import Config, KernelScope, Launch, Template, ceil_div
from hidet.lowering.templates.epilogue import anchor_of, epilogue_sink
from hidet.lowering.templates.parts import known, place, tensor
from hidet.mapping import TaskMap

TILE_K = 16
"""How much of k is in shared memory at a time."""

SIDE, REPEATS = 16, ((8, 4, 2, 1), (8, 4, 2))
"""Threads of a block along rows and columns, and how many elements each may have along both."""

CPU_SIDE, CPU_REPEATS = 8, ((8, 4, 2, 1), (8, 4))
"""The same for a CPU: it waits for no memory behind other threads, and switching between them
takes time, so a block has few of them with much to do."""


class MatmulTemplate(Template):
    """A block of `rows` x `columns` threads, each with `row_repeat` x `column_repeat` elements.

    Tiles of both operands go through shared memory, `TILE_K` deep; products are summed by FMA in
    f32 (f64 for doubles). The left operand may be any view: the im2col view of a convolution too.
    """

    name = "matmul"

    def accepts(self, fusion: FusionOp) -> bool:
        """Accept fusions with one product of matrices."""
        return sum(isinstance(op, MatmulOp) for op in fusion.body.block.ops) == 1

    def configs(self, fusion: FusionOp, arch: Arch) -> Sequence[Config]:
        """Return tiles from large to small, those first that fill the machine without waste."""
        batch, m, n, _ = _problem(anchor_of(fusion))
        side, repeats = (CPU_SIDE, CPU_REPEATS) if arch.is_cpu else (SIDE, REPEATS)
        candidates = [
            {"rows": side, "columns": side, "row_repeat": rows, "column_repeat": columns}
            for rows, columns in product(*repeats)
        ]

        def waves(config: Config) -> float:
            tile_m, tile_n = _tile(config)
            blocks = batch * ceil_div(m, tile_m) * ceil_div(n, tile_n)
            # Time of a block: products, and the loads that they wait for.
            work = tile_m * tile_n + 16 * (tile_m + tile_n)
            return ceil_div(blocks, 2 * arch.processors) * work

        return sorted(candidates, key=waves)

    def launch(self, fusion: FusionOp, config: Config) -> Launch:
        """Return one block for each tile of each matrix of the batch, in one dimension."""
        batch, m, n, _ = _problem(anchor_of(fusion))
        tile_m, tile_n = _tile(config)
        blocks = batch * ceil_div(m, tile_m) * ceil_div(n, tile_n)
        return Launch((blocks,), (config["rows"] * config["columns"],))

    def build(self, scope: KernelScope, fusion: FusionOp, config: Config) -> None:
        """Write the kernel's body."""
        anchor = anchor_of(fusion)
        for op in fusion.body.block.ops:
            if isinstance(op, GridOp) and not loads_of(op, anchor.result):
                scope.clone(op)
        lhs, rhs = (tensor(scope.views[operand]) for operand in (anchor.lhs, anchor.rhs))
        sizes = _problem(anchor)[1:]
        matmul(lhs, rhs, tensor(epilogue_sink(scope, anchor)), sizes, _threads_map(config))


@script
def matmul(
    lhs: Tensor, rhs: Tensor, product: Tensor, sizes: tuple[int, int, int], layout: TaskMap
) -> None:
    """Multiply matrices, or batches of them: a block computes one tile of one product.

    `sizes` are those of m, n and k; `layout` spreads the tile over the threads of the block.
    """
    (m, n, k), (tile_m, tile_n) = sizes, layout.shape
    tiles_m, tiles_n = ceil_div(m, tile_m), ceil_div(n, tile_n)
    thread = threadIdx.x
    batch = blockIdx.x // (tiles_m * tiles_n)
    row = blockIdx.x // tiles_n % tiles_m * tile_m
    column = blockIdx.x % tiles_n * tile_n

    acc = register_tensor(product.dtype, layout=layout)
    sa = shared_tensor(lhs.dtype, [tile_m, TILE_K])
    sb = shared_tensor(rhs.dtype, [TILE_K, tile_n])
    load_a = auto_map(tile_m, TILE_K, workers=layout.workers)
    load_b = auto_map(TILE_K, tile_n, workers=layout.workers)
    a, b, c = (matrix_of(operand, batch, product) for operand in (lhs, rhs, product))
    for element in acc.on(thread):
        acc[element] = 0
    for k0 in range(0, k, TILE_K):
        task.copy(task.window(lhs, *a, row, k0), sa, on=load_a.on(thread))
        task.copy(task.window(rhs, *b, k0, column), sb, on=load_b.on(thread))
        task.matmul(sa, sb, acc, on=thread)
    task.copy(acc, task.window(product, *c, row, column), on=thread)


def matrix_of(operand: Tensor, batch: Index, product: Tensor) -> list[Index]:
    """Return the leading indices of an operand; a batch dimension of 1 is broadcast."""
    batches, extents = known(product.shape[:-2]), known(operand.shape[:-2])
    indices = place(batch, batches)[len(batches) - len(extents) :]
    return [0 if extent == 1 else i for extent, i in zip(extents, indices, strict=True)]


def _problem(anchor: MatmulOp) -> tuple[int, int, int, int]:
    """Return the sizes of the batch, m, n and k."""
    result = shape_of(anchor.result)
    return prod(result[:-2]), result[-2], result[-1], shape_of(anchor.lhs)[-1]


def _tile(config: Config) -> tuple[int, int]:
    """Return the extents of a block's tile."""
    return config["rows"] * config["row_repeat"], config["columns"] * config["column_repeat"]


def _threads_map(config: Config) -> TaskMap:
    """Return the map of the accumulator."""
    return spatial(config["rows"], config["columns"]) * repeat(
        config["row_repeat"], config["column_repeat"]
    )
