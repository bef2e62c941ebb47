"""The template `matmul`: a block computes a tile of the product out of shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from xdsl.ir import SSAValue

from hidet.analysis.grids import loads_of
from hidet.dialects.compute import FusionOp, GridOp
from hidet.dialects.graph import MatmulOp
from hidet.dialects.shaped import element_of, shape_of
from hidet.dialects.task import CopyOp, ForeachOp
from hidet.dialects.task import MatmulOp as TileMatmulOp
from hidet.lowering.builder import Index, KernelBuilder
from hidet.lowering.templates.arch import Arch
from hidet.lowering.templates.base import Config, KernelScope, Launch, Template, ceil_div
from hidet.lowering.templates.epilogue import anchor_of, epilogue_sink
from hidet.mapping import TaskMap, auto_map, repeat, spatial

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
        side, repeats = (CPU_SIDE, CPU_REPEATS) if arch.name == "cpu" else (SIDE, REPEATS)
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
        builder, thread = scope.builder, scope.thread_id()
        _, m, n, k = _problem(anchor)
        tile_m, tile_n = _tile(config)
        for op in fusion.body.block.ops:
            if isinstance(op, GridOp) and not loads_of(op, anchor.result):
                scope.clone(op)
        sink = epilogue_sink(scope, anchor)
        tiles = (ceil_div(m, tile_m), ceil_div(n, tile_n))
        batch, row, column = _place(builder, scope.block_id(), tiles, (tile_m, tile_n))

        lhs, rhs = scope.views[anchor.lhs], scope.views[anchor.rhs]
        accumulator = builder.register_tile(element_of(anchor.result), _threads_map(config))
        left = builder.shared_tile(element_of(anchor.lhs), (tile_m, TILE_K))
        right = builder.shared_tile(element_of(anchor.rhs), (TILE_K, tile_n))
        for value, name in ((accumulator, "acc"), (left, "sa"), (right, "sb")):
            value.name_hint = name

        clear = builder.insert(ForeachOp(accumulator, thread))
        with builder.inside(clear.body.block):
            builder.store(builder.scalar(0, element_of(anchor.result)), accumulator, clear.indices)

        threads = config["rows"] * config["columns"]
        left_batch = _operand_batch(builder, batch, anchor.result, lhs)
        right_batch = _operand_batch(builder, batch, anchor.result, rhs)
        with builder.loop(k, TILE_K, name="k0") as k0:
            left_map = auto_map(tile_m, TILE_K, workers=threads)
            right_map = auto_map(TILE_K, tile_n, workers=threads)
            builder.insert(CopyOp(lhs, [*left_batch, row, k0], left, [], thread, left_map))
            builder.insert(CopyOp(rhs, [*right_batch, k0, column], right, [], thread, right_map))
            builder.insert(TileMatmulOp(left, right, accumulator, thread))

        place = [*_operand_batch(builder, batch, anchor.result, anchor.result), row, column]
        builder.insert(CopyOp(accumulator, [], sink, place, thread))


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


def _place(
    builder: KernelBuilder, block: SSAValue, tiles: tuple[int, int], tile: tuple[int, int]
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Return the matrix of the batch, the first row and the first column of a block."""
    batch = builder.index(builder.div(block, tiles[0] * tiles[1]))
    row = builder.mul(builder.mod(builder.div(block, tiles[1]), tiles[0]), tile[0])
    column = builder.mul(builder.mod(block, tiles[1]), tile[1])
    place = batch, builder.index(row), builder.index(column)
    for value, name in zip(place, ("batch", "row", "column"), strict=True):
        value.name_hint = name
    return place


def _operand_batch(
    builder: KernelBuilder, batch: SSAValue, result: SSAValue, operand: SSAValue
) -> list[SSAValue]:
    """Return the leading indices of an operand; a batch dimension of 1 is broadcast."""
    leading = shape_of(result)[:-2]
    extents = shape_of(operand)[:-2]
    indices = builder.delinearize(batch, leading)[len(leading) - len(extents) :]
    chosen: list[Index] = [
        0 if extent == 1 else index for index, extent in zip(indices, extents, strict=True)
    ]
    return [builder.index(index) for index in chosen]
