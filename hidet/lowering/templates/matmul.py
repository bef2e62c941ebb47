"""The template `matmul`: a block computes a tile of the product out of shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import product
from math import prod

from hidet.analysis.grids import loads_of
from hidet.arch.instructions import MMA_SYNC, WARP
from hidet.dialects.compute import FusionOp, GridOp
from hidet.dialects.graph import MatmulOp
from hidet.dialects.shaped import bytes_of, element_of, shape_of
from hidet.errors import ScheduleError
from hidet.frontends.script.values import Index, Tensor
from hidet.lang import script, shared_tensor, task
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.lowering.task.map_tensor_cores import FMA
from hidet.lowering.templates.arch import Arch
from hidet.lowering.templates.base import Config, KernelScope, Launch, Template, ceil_div
from hidet.lowering.templates.epilogue import anchor_of, epilogue_sink
from hidet.lowering.templates.parts import accumulator, fill, known, place, tensor


@dataclass(frozen=True)
class Blocking:
    """How a product is cut into blocks, and who computes what of one.

    Attributes:
        instruction: `fma`, or a name of `hidet.arch.instructions.MMA_SYNC`.
        block_m: the rows of the tile of a block.
        block_n: its columns.
        block_k: how much of k is in shared memory at a time.
        rows: how many workers share the rows of a tile: threads, or warps of tensor cores.
        columns: how many share its columns.
        stages: how many tiles of each operand are in shared memory.
    """

    instruction: str
    block_m: int
    block_n: int
    block_k: int
    rows: int
    columns: int
    stages: int = 1

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return self.rows * self.columns * (1 if self.instruction == FMA else WARP)

    @property
    def config(self) -> Config:
        """The choice as it is written into the IR."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def cost(self, blocks: int, arch: Arch) -> float:
        """Return an estimate of the time of so many blocks, in no unit."""
        # Time of a block: products, and the loads that they wait for.
        loads = 16 if self.instruction == FMA else 64
        work = self.block_m * self.block_n + loads * (self.block_m + self.block_n)
        return ceil_div(blocks, 2 * arch.processors) * work


def _fma(side: int, row_repeats: Sequence[int], column_repeats: Sequence[int]) -> list[Blocking]:
    """Return tiles of `side` x `side` threads, each of which has some elements along both."""
    return [
        Blocking(FMA, side * rows, side * columns, 16, side, side)
        for rows, columns in product(row_repeats, column_repeats)
    ]


GPU_FMA = _fma(16, (8, 4, 2, 1), (8, 4, 2))
CPU_FMA = _fma(8, (8, 4, 2, 1), (8, 4))
"""A CPU waits for no memory behind other threads, and switching between them takes time, so a block
has few of them with much to do."""

# Rows and columns of a tile, and of its warps.
_MMA_TILES = (
    (128, 128, 2, 2),
    (128, 64, 2, 2),
    (64, 128, 2, 2),
    (64, 64, 2, 2),
    (64, 32, 2, 2),
    (32, 64, 2, 2),
    (32, 32, 2, 2),
    (16, 64, 1, 4),
    (16, 32, 1, 4),
)

MMA_BYTES = 64
"""The bytes of k of a tile for tensor cores: half a line of the banks."""

MMA_STAGES = 3
"""How many tiles of each operand there are: one is multiplied while others are on their way."""


class MatmulTemplate(Template):
    """A block computes a tile of the product; tiles of both operands go through shared memory.

    The operands may be any views: the im2col view of a convolution too. Which instruction sums the
    products is a part of the config; what it needs is `map-tensor-cores`' to know.
    """

    name = "matmul"

    def accepts(self, fusion: FusionOp) -> bool:
        """Accept fusions with one product of matrices."""
        return sum(isinstance(op, MatmulOp) for op in fusion.body.block.ops) == 1

    def configs(self, fusion: FusionOp, arch: Arch) -> Sequence[Config]:
        """Return tiles from large to small, those first that fill the machine without waste."""
        anchor = anchor_of(fusion)
        batch, m, n, _ = _problem(anchor)
        depth = MMA_BYTES // bytes_of(element_of(anchor.lhs))
        candidates = [
            Blocking(name, block_m, block_n, depth, rows, columns, MMA_STAGES)
            for name in _instructions(anchor, arch)
            for block_m, block_n, rows, columns in _MMA_TILES
        ] or (CPU_FMA if arch.name == "cpu" else GPU_FMA)

        def cost(each: Blocking) -> float:
            blocks = batch * ceil_div(m, each.block_m) * ceil_div(n, each.block_n)
            return each.cost(blocks, arch)

        return [each.config for each in sorted(candidates, key=cost)]

    def launch(self, fusion: FusionOp, config: Config) -> Launch:
        """Return one block for each tile of each matrix of the batch, in one dimension."""
        choice, (batch, m, n, _) = blocking_of(config), _problem(anchor_of(fusion))
        blocks = batch * ceil_div(m, choice.block_m) * ceil_div(n, choice.block_n)
        return Launch((blocks,), (choice.threads,))

    def build(self, scope: KernelScope, fusion: FusionOp, config: Config) -> None:
        """Write the kernel's body."""
        anchor = anchor_of(fusion)
        for op in fusion.body.block.ops:
            if isinstance(op, GridOp) and not loads_of(op, anchor.result):
                scope.clone(op)
        lhs, rhs = (tensor(scope.views[operand]) for operand in (anchor.lhs, anchor.rhs))
        sizes = _problem(anchor)[1:]
        matmul(lhs, rhs, tensor(epilogue_sink(scope, anchor)), sizes, blocking_of(config))


@script
def matmul(
    lhs: Tensor, rhs: Tensor, product: Tensor, sizes: tuple[int, int, int], choice: Blocking
) -> None:
    """Multiply matrices, or batches of them: a block computes one tile of one product.

    `sizes` are those of m, n and k.
    """
    (m, n, k), (tile_m, tile_n) = sizes, (choice.block_m, choice.block_n)
    tiles_m, tiles_n = ceil_div(m, tile_m), ceil_div(n, tile_n)
    thread = threadIdx.x
    batch = blockIdx.x // (tiles_m * tiles_n)
    row = blockIdx.x // tiles_n % tiles_m * tile_m
    column = blockIdx.x % tiles_n * tile_n

    acc = accumulator(product.dtype, tile_m, tile_n)
    sa = shared_tensor(lhs.dtype, [tile_m, choice.block_k])
    sb = shared_tensor(rhs.dtype, [choice.block_k, tile_n])
    a, b, c = (matrix_of(operand, batch, product) for operand in (lhs, rhs, product))
    fill(acc, 0, thread)
    for k0 in range(0, k, choice.block_k):
        task.copy(task.window(lhs, *a, row, k0), sa, on=thread)
        task.copy(task.window(rhs, *b, k0, column), sb, on=thread)
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


def _instructions(anchor: MatmulOp, arch: Arch) -> list[str]:
    """Return the instructions of tensor cores for a product on a machine, by their names."""
    element, total = element_of(anchor.lhs), element_of(anchor.result)
    kind = "tf32" if anchor.precision.data == "tf32" else str(element)
    return [
        each.name
        for each in MMA_SYNC.values()
        if arch.name != "cpu"
        and each.runs_on(arch.name)
        and each.name == f"m16n8k{32 // bytes_of(element)}_{kind}_{total}"
    ]


def blocking_of(config: Config) -> Blocking:
    """Read a choice as the IR has it.

    Raises:
        ScheduleError: something is missing.
    """
    try:
        return Blocking(**{each.name: config[each.name] for each in fields(Blocking)})  # pyright: ignore[reportArgumentType]
    except KeyError as error:
        names = ", ".join(each.name for each in fields(Blocking))
        raise ScheduleError(
            f"the config of a matmul says no {error}", hint=f"it has {names}"
        ) from error
