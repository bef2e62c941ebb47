"""The config of the template `matmul`: its tile sizes, and what they need."""

from dataclasses import dataclass
from functools import cached_property
from math import prod

from hidet.analysis.im2col import has_tiles
from hidet.arch.chips import Arch
from hidet.arch.hopper import WGMMA
from hidet.arch.instructions import FMA
from hidet.arch.limits import WARP, WARP_GROUP
from hidet.lowering.templates.base import ceil_div
from hidet.lowering.templates.config import (
    BLOCKED,
    COOPERATIVE,
    MAX_CHOICE,
    PINGPONG,
    TRANSPOSED,
    VECTOR,
    Config,
)
from hidet.lowering.templates.legality import Footprint
from hidet.lowering.templates.problem import Problem

DIRECT, STAGED, STAGED_RESIDUAL = "direct", "staged", "staged-residual"
"""How an epilogue stores results: from registers, through shared memory, or through shared memory
to which TMA has loaded a residual."""

SLOTS = 2
"""The staging buffers of a warp group, one per piece of its results."""


def pieces_of(columns: int, element_bytes: int) -> int:
    """Return the number of column pieces in which a warp group stores its results.

    Pieces are cache lines; their number is a multiple of the slots, else there is a single piece.
    """
    line = LINE // element_bytes
    return columns // line if columns % (SLOTS * line) == 0 else 1


LINE, SECTOR = 128, 32
"""The bytes of a cache line, and of all shared memory banks; those that are loaded at least."""


PINGPONG_TILE, CONSUMERS = (64, 256), 2
"""The tile of consumers that take turns, and their number. Of tiles with 64 or 128 rows it was the
fastest for epilogues that load a residual or compute GELU, with K from 256 to 1024 (H200)."""

THREAD, _WGMMA_NAMES = 1, frozenset(WGMMA)
"""The threads of an FMA, and the names of instructions of a warp group."""

ALIGNMENT = 1024
"""The alignment of shared tiles in bytes, which is reserved."""


@dataclass(frozen=True)
class Blocking(Config):
    """The tile sizes of a matmul and the distribution of a tile over workers.

    Attributes:
        instruction: `fma`, or a name that `hidet.arch.products.find_product` knows.
        block_m: the rows of a block's tile.
        block_n: its columns, of all matmuls together.
        block_k: the extent of K in shared memory.
        rows: the number of workers along M: threads, warps or warp groups.
        columns: the number of workers along N.
        stages: the number of stages of operand tiles in shared memory.
        grid: the most blocks that are launched; persistent blocks process several tiles.
        epilogue: how results are stored, see `STAGED`.
        cluster_rows: the blocks of a cluster along M.
        cluster_columns: the blocks of a cluster along N.
        arrangement: for FMA, `blocked`, `striped` or `transposed`.
        residents: the minimum number of resident blocks per multiprocessor, which limits registers.
        schedule: `cooperative` or `pingpong`, of persistent blocks of one warp group for a tile.
    """

    instruction: str
    block_m: int
    block_n: int
    block_k: int
    rows: int
    columns: int
    stages: int
    grid: int = MAX_CHOICE
    epilogue: str = DIRECT
    cluster_rows: int = 1
    cluster_columns: int = 1
    arrangement: str = BLOCKED
    residents: int = 1
    schedule: str = COOPERATIVE

    @cached_property
    def group(self) -> int:
        """The threads of an instruction."""
        if self.instruction == FMA:
            return THREAD
        return WARP_GROUP if self.instruction in _WGMMA_NAMES else WARP

    @cached_property
    def threads(self) -> int:
        """The threads of a block."""
        return self.rows * self.columns * self.group

    @property
    def cluster(self) -> int:
        """The blocks of a cluster."""
        return self.cluster_rows * self.cluster_columns

    def gathers(self, problem: Problem) -> bool:
        """Return whether threads gather operand A by vectors, because TMA cannot load it."""
        return problem.gathered and not (
            self.group == WARP_GROUP and has_tiles(self.block_k, problem.channels, problem.k)
        )

    def takes_turns(self, problem: Problem, arch: Arch) -> bool:
        """Return whether two consumers of a block can take turns with tiles that TMA loads."""
        streams = problem.streams and not self.gathers(problem)
        return streams and self.tiles(problem) > CONSUMERS * arch.processors

    def shared_bytes(self, problem: Problem) -> int:
        """Return the shared memory of a block."""
        padding = 2 * VECTOR // problem.element_bytes if self.arrangement == TRANSPOSED else 0
        operands = (self.block_m + self.block_n + padding) * self.block_k * self.stages
        results = 0
        for columns in (problem.stored or (problem.n,)) if self.epilogue != DIRECT else ():
            own = self.block_n * columns // problem.n
            pieces = pieces_of(own, problem.result_bytes) if self.columns == 1 else 1
            slots = min(pieces, SLOTS) if self.epilogue == STAGED else pieces
            results += self.block_m * own * slots // pieces
        results *= CONSUMERS if self.schedule == PINGPONG else 1
        return operands * problem.element_bytes + results * problem.result_bytes

    def refusal(self, problem: Problem, arch: Arch) -> str | None:
        """Return why an architecture cannot run it, None if it can."""
        # Tiles for wgmma are aligned.
        spare = ALIGNMENT if self.group == WARP_GROUP else 0
        shared, sums = self.shared_bytes(problem) + spare, self.block_m * self.block_n
        return Footprint(self.threads, shared, sums // self.threads).refusal(arch)

    def shares(self, problem: Problem) -> list[int]:
        """Return the tile columns of each matmul, which add up to those of the block."""
        return [self.block_n * columns // problem.n for columns in problem.columns]

    def clusters(self, problem: Problem) -> tuple[int, int]:
        """Return the number of clusters along M and N."""
        return (
            ceil_div(problem.m, self.block_m * self.cluster_rows),
            ceil_div(problem.n, self.block_n * self.cluster_columns),
        )

    def tiles(self, problem: Problem) -> int:
        """Return the number of tiles, including padding to whole clusters."""
        return problem.batch * prod(self.clusters(problem)) * self.cluster
