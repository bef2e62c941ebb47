"""The search space of the template `matmul`: the tilings of a problem, best estimate first."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import product
from math import inf

from hidet.arch.chips import Arch
from hidet.arch.hopper import WGMMA
from hidet.arch.instructions import FMA, MMA_SYNC
from hidet.arch.limits import REGISTER_BYTES, WARP, WARP_GROUP
from hidet.lowering.templates.base import ceil_div
from hidet.lowering.templates.blocking import (
    DIRECT,
    LINE,
    PINGPONG_TILE,
    SECTOR,
    STAGED,
    STAGED_RESIDUAL,
    THREAD,
    Blocking,
)
from hidet.lowering.templates.config import MAX_CHOICE, PINGPONG, STRIPED, TRANSPOSED
from hidet.lowering.templates.cost_model import BUSY, estimate, least_time, throughput
from hidet.lowering.templates.legality import Rejected
from hidet.lowering.templates.problem import Problem

CPU_FMA = [
    Blocking(FMA, 8 * rows, 8 * columns, 16, 8, 8, 1) for rows in (8, 4, 2, 1) for columns in (8, 4)
]
"""A CPU does not hide latency by multithreading, and switching fibers is expensive: few threads per
block with much work each."""

FMA_TILES = (
    *((128, 128, 16, 16), (128, 64, 16, 16), (64, 128, 16, 16), (64, 64, 16, 16)),
    *((64, 64, 8, 8), (64, 32, 8, 8), (32, 64, 8, 8), (32, 32, 8, 8), (16, 64, 8, 8)),
)
"""Tiles for FMA: rows, columns, and the threads along each."""

TRANSPOSED_FMA_TILES = (
    *((256, 128, 16, 16), (128, 256, 16, 16), (128, 128, 16, 16)),
    *((128, 64, 16, 8), (64, 128, 8, 16), (64, 64, 16, 8)),
)
"""The same for transposed operand tiles: FMAs of smaller ones do not make up for slower copies."""

MMA_TILES = (
    (128, 256, 2, 4),
    (256, 128, 4, 2),
    (128, 128, 2, 2),
    (128, 64, 2, 2),
    (64, 128, 2, 2),
    (64, 64, 2, 2),
    (64, 32, 2, 2),
    (32, 128, 1, 4),
    (32, 64, 2, 2),
    (32, 32, 2, 2),
    (16, 128, 1, 4),
    (16, 64, 1, 4),
    (16, 32, 1, 4),
)
"""Tiles for mma.sync: rows, columns, and the warps along each."""

WGMMA_TILES = (
    *((128, columns, 2, 1) for columns in (64, *range(96, 257, 16))),
    *((256, columns, 2, 1) for columns in range(64, 129, 16)),
    *((64, columns, 1, 1) for columns in (32, 48, 64, 96, 128, 192, 256)),
    (64, 256, 1, 2),
)
"""Tiles for wgmma: rows, columns, and the warp groups along each. Many widths help to fill whole
waves; multiples of 16 can be swizzled in either order."""

_blocking = cache(Blocking)
"""The tilings of one problem are, for the most part, those of others."""

DEPTH = LINE
"""The bytes of K of a tensor core tile. Half of it was 1.1 to 1.3 times slower (H200)."""

SMALL_TILE = 64 * 128
"""The largest output tile that may have twice that depth, to lengthen its short iterations."""

STAGES = (2, 3, 4, 5, 6, 8, 11, 15)
"""Ring sizes: matmuls with few tiles are latency-bound and need many tiles in flight."""

MMA_COLUMNS, WGMMA_UNIT = 8, 16
"""The column granularity per worker of a tile of several matmuls, for mma.sync and wgmma."""

MMA_STAGES = 8
"""The most stages if all threads issue the copies, since the prologue is unrolled."""


@cache
def candidates(problem: Problem, arch: Arch) -> Sequence[Blocking]:
    """Return the tilings of a problem that an architecture can run, best estimate first.

    Those for tensor cores if there are any, else those for FMA.
    """
    for tiles in _tiles(problem, arch):
        found = [each for tile in tiles for each in _fitting(tile, problem, arch)]
        if found:
            return tuple(sorted(found, key=lambda each: estimate(each, problem, arch)))
    return ()


@cache
def fastest(problem: Problem, arch: Arch, limit: float = inf) -> Blocking | None:
    """Return the first of `candidates`; skip tiles that cannot be as fast.

    None if there is none, or none whose estimate is below a limit.
    """
    for tiles in _tiles(problem, arch):
        best, least, fits = None, (limit, -1), False  # of equal estimates that of the first tile
        rates = [throughput(tile, problem, arch) for tile in tiles]
        bounds = [least_time(t, problem, arch, r) for t, r in zip(tiles, rates, strict=True)]
        for number in sorted(range(len(tiles)), key=bounds.__getitem__):
            if fits and bounds[number] > least[0]:
                break
            for each in _fitting(tiles[number], problem, arch):
                fits = True
                rank = (estimate(each, problem, arch, rates[number]), number)
                if rank < least:
                    best, least = each, rank
        if fits:
            return best
    return None


def refused(problem: Problem, arch: Arch) -> list[Rejected]:
    """Return the tensor core tilings that an architecture cannot run, with reasons."""
    stages = [each for tile in next(_tiles(problem, arch)) for each in _stages(tile, problem)]
    choices = [each for choice in stages for each in _variants(choice, problem, arch)]
    reasons = ((each, each.refusal(problem, arch)) for each in choices)
    return [Rejected(each, reason) for each, reason in reasons if reason is not None]


def _tiles(problem: Problem, arch: Arch) -> Iterator[Sequence[Blocking]]:
    """Yield the tiles for tensor cores, then those for FMA, with the fewest stages each."""
    # The CPU supports tensor cores, but they are as slow as FMA.
    yield [] if arch.is_cpu else [*_mma(problem, arch), *_wgmma(problem, arch)]
    fma = _fma_tiles(problem, arch)
    yield [tile for tile in fma if _is_shared(tile.block_n, tile.columns, problem)]


def _fitting(tile: Blocking, problem: Problem, arch: Arch) -> list[Blocking]:
    """Return the tilings with a tile that an architecture can run."""
    found: list[Blocking] = []
    for choice in _stages(tile, problem):
        if choice.refusal(problem, arch):
            break  # so are those with more stages
        variants = _variants(choice, problem, arch)
        found += (v for v in variants if v.epilogue == DIRECT or not v.refusal(problem, arch))
    return found


def _stages(tile: Blocking, problem: Problem) -> Iterator[Blocking]:
    """Yield the numbers of stages of a tile, not exceeding K."""
    if tile.group == THREAD:
        yield tile
        return
    most = MMA_STAGES if tile.group == WARP else STAGES[-1]
    most = min(most, max(STAGES[0], ceil_div(problem.k, tile.block_k) + 1))
    yield from (_with_stages(tile, stages) for stages in STAGES if stages <= most)


@cache
def _with_stages(tile: Blocking, stages: int) -> Blocking:
    return replace(tile, stages=stages)


def _fma_tiles(problem: Problem, arch: Arch) -> Iterator[Blocking]:
    if arch.is_cpu:
        yield from CPU_FMA
        return
    for tile, depth, stages in product(FMA_TILES, (16, 32), (1, 3)):
        yield _by_threads(tile, depth, stages, STRIPED, arch)
    if problem.streams and not problem.gathered and problem.element_bytes == REGISTER_BYTES:
        for tile in TRANSPOSED_FMA_TILES:
            yield _by_threads(tile, 16, 3, TRANSPOSED, arch)


def _by_threads(
    tile: tuple[int, int, int, int], depth: int, stages: int, arrangement: str, arch: Arch
) -> Blocking:
    block_m, block_n, rows, columns = tile
    threads, sums = rows * columns, block_m * block_n // (rows * columns)
    # Accumulators take half of the registers.
    residents = min(2 * BUSY, arch.registers_per_processor // (2 * sums)) // threads
    choice = Blocking(FMA, block_m, block_n, depth, rows, columns, stages)
    return replace(choice, arrangement=arrangement, residents=residents)


def _is_shared(block_n: int, unit: int, problem: Problem) -> bool:
    """Return whether the columns of a block can be divided among matmuls in multiples of a unit."""
    return all(block_n * columns % (problem.n * unit) == 0 for columns in problem.parts)


def _mma(problem: Problem, arch: Arch) -> Iterator[Blocking]:
    wanted = f"m16n8k{32 // problem.element_bytes}_{problem.kind}_{problem.total}"
    for instruction in MMA_SYNC.values():
        if instruction.name != wanted or not instruction.runs_on(arch):
            continue
        for block_m, block_n, rows, columns in MMA_TILES:
            if _is_shared(block_n, MMA_COLUMNS * columns, problem):
                for depth in _depths(block_m * block_n, problem):
                    yield _blocking(wanted, block_m, block_n, depth, rows, columns, STAGES[0])


def _wgmma(problem: Problem, arch: Arch) -> Iterator[Blocking]:
    for block_m, block_n, rows, columns in WGMMA_TILES:
        widest = block_n * max(problem.columns) // (problem.n * columns)
        name = f"m64n{widest}k{32 // problem.element_bytes}_{problem.kind}_{problem.total}"
        if (
            not _is_shared(block_n, WGMMA_UNIT * columns, problem)
            or name not in WGMMA
            or not WGMMA[name].runs_on(arch)
            or block_m >= 4 * problem.m  # mostly padding; mma.sync has smaller tiles
        ):
            continue
        for depth in _depths(block_m * block_n, problem):
            tile = _blocking(name, block_m, block_n, depth, rows, columns, STAGES[0])
            # wgmma truncates to TF32; TMA rounds.
            if problem.kind != "tf32" or (problem.streams and not tile.gathers(problem)):
                yield tile


def _depths(size: int, problem: Problem) -> list[int]:
    """Return the depths of a tile."""
    line = DEPTH // problem.element_bytes
    depths = [line, 2 * line] if size <= SMALL_TILE else [line]
    if problem.channels == line // 2:
        depths.append(line // 2)  # the channels of a filter tap, which TMA can load
    return depths


def _variants(choice: Blocking, problem: Problem, arch: Arch) -> Iterator[Blocking]:
    """Yield a tiling; of one with wgmma all clusters, grids, epilogues and schedules."""
    if choice.group != WARP_GROUP:
        yield choice
        return
    c = choice
    make = partial(
        _blocking, c.instruction, c.block_m, c.block_n, c.block_k, c.rows, c.columns, c.stages
    )
    staged = (STAGED, STAGED_RESIDUAL) if problem.residuals else (STAGED,)
    if problem.n * problem.result_bytes <= SECTOR:  # boxes of whole lines are mostly padding
        staged = ()
    for pair in _clusters(choice, problem):
        single, grid = make(MAX_CHOICE, DIRECT, *pair), MAX_CHOICE
        yield single
        if single.tiles(problem) > arch.processors:
            grid = arch.processors // single.cluster * single.cluster
            yield make(grid, DIRECT, *pair)
        for epilogue in staged:
            yield make(grid, epilogue, *pair)
    tile = choice.block_m, choice.block_n
    if tile == PINGPONG_TILE and choice.columns == 1 and choice.takes_turns(problem, arch):
        for epilogue in staged:
            yield make(arch.processors, epilogue, schedule=PINGPONG)


def _clusters(choice: Blocking, problem: Problem) -> Iterator[tuple[int, int]]:
    """Yield the shapes of clusters: one block, and two blocks if they divide the tiles."""
    yield 1, 1
    rows, columns = choice.clusters(problem)
    if rows % PAIR == 0:
        yield PAIR, 1
    elif columns % PAIR == 0:
        yield 1, PAIR


PAIR = 2
"""The blocks of a cluster. Multiprocessors come in pairs, so pairs can use all of them."""
