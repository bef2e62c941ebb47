"""Tile sizes of matmuls: the search space, and a cost model of their run times."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from math import prod

from hidet.analysis.im2col import has_tiles
from hidet.arch.chips import Arch
from hidet.arch.hopper import WGMMA
from hidet.arch.instructions import FMA, MMA_SYNC
from hidet.arch.limits import REGISTER_BYTES, WARP, WARP_GROUP
from hidet.lowering.templates.base import ceil_div
from hidet.lowering.templates.config import (
    BLOCKED,
    COOPERATIVE,
    MAX_CHOICE,
    PINGPONG,
    STRIPED,
    TRANSPOSED,
    VECTOR,
    Config,
)
from hidet.lowering.templates.legality import Footprint, Rejected
from hidet.lowering.templates.problem import Problem

DIRECT, STAGED = "direct", "staged"
"""The epilogues that store results from registers, or through shared memory."""

SLOTS = 2
"""The staging buffers of a warp group, one per piece of its results."""


def pieces_of(columns: int, element_bytes: int) -> int:
    """Return the number of column pieces in which a warp group stores its results.

    Pieces are cache lines; their number is a multiple of the slots, else there is a single piece.
    """
    line = LINE // element_bytes
    return columns // line if columns % (SLOTS * line) == 0 else 1


LINE = 128
"""The bytes of a cache line, and of all shared memory banks."""


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
        epilogue: `direct`, or `staged`: results are stored through shared memory by TMA.
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

    @property
    def group(self) -> int:
        """The threads of an instruction."""
        if self.instruction == FMA:
            return THREAD
        return WARP_GROUP if self.instruction in _WGMMA_NAMES else WARP

    @property
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
        for columns in (problem.stored or (problem.n,)) if self.epilogue == STAGED else ():
            own = self.block_n * columns // problem.n
            pieces = pieces_of(own, problem.result_bytes) if self.columns == 1 else 1
            results += self.block_m * own * min(pieces, SLOTS) // pieces
        results *= CONSUMERS if self.schedule == PINGPONG else 1
        return operands * problem.element_bytes + results * problem.result_bytes

    def refusal(self, problem: Problem, arch: Arch) -> str | None:
        """Return why an architecture cannot run it, None if it can."""
        group = self.group
        threads = self.rows * self.columns * group
        # Tiles for wgmma are aligned.
        spare = ALIGNMENT if group == WARP_GROUP else 0
        shared = self.shared_bytes(problem) + spare
        return Footprint(threads, shared, self.block_m * self.block_n // threads).refusal(arch)

    def shares(self, problem: Problem) -> list[int]:
        """Return the tile columns of each matmul, which add up to those of the block."""
        return [self.block_n * columns // problem.n for columns in problem.columns]

    def clusters(self, problem: Problem) -> tuple[int, int]:
        """Return the number of clusters along M and N."""
        return (
            -(-problem.m // (self.block_m * self.cluster_rows)),
            -(-problem.n // (self.block_n * self.cluster_columns)),
        )

    def tiles(self, problem: Problem) -> int:
        """Return the number of tiles, including padding to whole clusters."""
        return problem.batch * prod(self.clusters(problem)) * self.cluster


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

LARGE_FMA_TILES = ((256, 128, 16, 16), (128, 256, 16, 16), (128, 128, 16, 16))
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

PINGPONG_TILE, CONSUMERS = (64, 256), 2
"""The tile of consumers that take turns, and their number. Of tiles with 64 or 128 rows it was the
fastest for epilogues that load a residual or compute GELU, with K from 256 to 1024 (H200)."""

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
    fitting = [each for each in _tensor_cores(problem, arch) if not each.refusal(problem, arch)]
    if not fitting:
        fitting = [
            each
            for each in _fma(problem, arch)
            if _is_shared(each.block_n, each.columns, problem) and not each.refusal(problem, arch)
        ]
    return tuple(sorted(fitting, key=lambda each: estimate(each, problem, arch)))


def refused(problem: Problem, arch: Arch) -> list[Rejected]:
    """Return the tensor core tilings that an architecture cannot run, with reasons."""
    reasons = ((each, each.refusal(problem, arch)) for each in _tensor_cores(problem, arch))
    return [Rejected(each, reason) for each, reason in reasons if reason is not None]


def _fma(problem: Problem, arch: Arch) -> Iterator[Blocking]:
    if arch.is_cpu:
        yield from CPU_FMA
        return
    for tile, depth, stages in product(FMA_TILES, (16, 32), (1, 3)):
        yield _by_threads(tile, depth, stages, STRIPED, arch)
    if problem.streams and not problem.gathered and problem.element_bytes == REGISTER_BYTES:
        for tile in LARGE_FMA_TILES:
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


def _tensor_cores(problem: Problem, arch: Arch) -> Iterator[Blocking]:
    if not arch.is_cpu:  # supported, but as slow as FMA
        yield from _mma(problem, arch)
        yield from _wgmma(problem, arch)


def _mma(problem: Problem, arch: Arch) -> Iterator[Blocking]:
    wanted = f"m16n8k{32 // problem.element_bytes}_{problem.kind}_{problem.total}"
    for instruction in MMA_SYNC.values():
        if instruction.name != wanted or not instruction.runs_on(arch):
            continue
        for block_m, block_n, rows, columns in MMA_TILES:
            if not _is_shared(block_n, MMA_COLUMNS * columns, problem):
                continue
            for depth, stages in _depths(block_m * block_n, problem):
                if stages <= MMA_STAGES:
                    yield Blocking(wanted, block_m, block_n, depth, rows, columns, stages)


def _wgmma(problem: Problem, arch: Arch) -> Iterator[Blocking]:
    depth = 32 // problem.element_bytes
    for block_m, block_n, rows, columns in WGMMA_TILES:
        widest = block_n * max(problem.columns) // (problem.n * columns)
        name = f"m64n{widest}k{depth}_{problem.kind}_{problem.total}"
        if (
            not _is_shared(block_n, WGMMA_UNIT * columns, problem)
            or name not in WGMMA
            or not WGMMA[name].runs_on(arch)
            or block_m >= 4 * problem.m  # mostly padding; mma.sync has smaller tiles
        ):
            continue
        for block_k, stages in _depths(block_m * block_n, problem):
            make = partial(Blocking, name, block_m, block_n, block_k, rows, columns, stages)
            single = make()
            # wgmma truncates to TF32; TMA rounds.
            if problem.kind == "tf32" and (single.gathers(problem) or not problem.streams):
                continue
            for pair in _clusters(single, problem):
                choice, grid = make(MAX_CHOICE, DIRECT, *pair), MAX_CHOICE
                yield choice
                if choice.tiles(problem) > arch.processors:
                    grid = arch.processors // choice.cluster * choice.cluster
                    yield make(grid, DIRECT, *pair)
                yield make(grid, STAGED, *pair)
            if (block_m, block_n, columns) == (*PINGPONG_TILE, 1) and single.takes_turns(
                problem, arch
            ):
                yield make(arch.processors, STAGED, schedule=PINGPONG)


def _depths(size: int, problem: Problem) -> Iterator[tuple[int, int]]:
    """Yield depths and stages of a tile, not exceeding K."""
    line = DEPTH // problem.element_bytes
    depths = [line, 2 * line] if size <= SMALL_TILE else [line]
    if problem.channels == line // 2:
        depths.append(line // 2)  # the channels of a filter tap, which TMA can load
    for depth in depths:
        for stages in STAGES:
            if stages <= max(STAGES[0], ceil_div(problem.k, depth) + 1):
                yield depth, stages


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

ALIGNMENT = 1024
"""The alignment of shared tiles in bytes, which is reserved."""

THREAD, _WGMMA_NAMES = 1, frozenset(WGMMA)


@dataclass(frozen=True)
class Pace:
    """The throughput and latency of a multiprocessor of an H200, per microsecond.

    Attributes:
        products: multiply-adds of 16-bit numbers.
        traffic: bytes read from the L2 cache.
        stores: bytes of results stored from registers.
        latency: microseconds from the request of a tile to its use, without contention.
        step: the minimum time of an iteration in microseconds.
        beside: the fraction of overlapped times that is not hidden.
        waiting: the fraction of the latency that is never hidden.
    """

    products: float
    traffic: float
    stores: float
    latency: float
    step: float
    beside: float
    waiting: float


PACES = {
    THREAD: Pace(4.0e5, 126e3, 13e3, 0.8, 0.064, 0.45, 0.2),
    WARP: Pace(2.36e6, 170e3, 15.9e3, 0.4, 0.058, 0.144, 0.1),
    WARP_GROUP: Pace(3.6e6, 170e3, 20e3, 0.56, 0.058, 0.144, 0.1),
}
"""By the threads of an instruction: FMA, `mma.sync` and `wgmma`."""

BUSY = 256
"""The threads that saturate a multiprocessor with FMA."""

PREFETCHED = 0.2
"""The fraction of the time of prefetched loads that is not hidden."""

STAGED_STORES = 80e3
"""The bytes of results stored through shared memory per microsecond and multiprocessor."""

TURN = 0.48
"""Microseconds between two tiles of a persistent block."""

GATHER = 2.7
"""The slowdown of gathered loads."""

PARTIAL = 1.4
"""The slowdown of accesses to results and residuals by tiles with rows of partial cache lines (1x1
convolutions, H100)."""

LAUNCH, START = 0.55, 0.63
"""Microseconds to start a kernel, and a block."""

CLUSTER, CLUSTER_TILE = 0.9, 0.25
"""Microseconds to synchronize a cluster, once and per tile. Multicast saves L2 traffic: 3 to
13% of the time of matmuls from 4096 on that run back to back (H100)."""

OPERATIONS, RESIDUALS = 217e3, 22e3
"""The operations of an epilogue per microsecond and multiprocessor, one a cycle in each of 128
lanes, and the bytes of residuals that it loads in the layout of accumulators (H200)."""

CROWDED, LATE_RESIDUALS = 128, 67e3
"""With more registers of a thread for accumulators and residuals, cooperating warp groups wait
longer for residuals: the bytes per microsecond and multiprocessor (1x1 convolutions, H100)."""

LARGE = CONSUMERS * prod(PINGPONG_TILE)
"""The elements of a result per multiprocessor from which the time of epilogues matters."""

EXPOSED = 0.3
"""The fraction of an epilogue that is not hidden if consumers take turns (H200)."""


def estimate(choice: Blocking, problem: Problem, arch: Arch) -> float:
    """Return the estimated time in microseconds of a matmul, fitted to measurements on an H200.

    The maximum of compute time, L2 traffic, memory traffic and latency dominates. Results are
    stored after it, or, if staged, overlap with the next tile.
    """
    blocks = choice.tiles(problem)
    if arch.is_cpu:  # not a time: the FMAs of a block, and the loads that they wait for
        work = choice.block_m * choice.block_n + 16 * (choice.block_m + choice.block_n)
        return ceil_div(blocks, 2 * arch.processors) * work
    group = choice.group
    pace = PACES[group]
    steps = ceil_div(problem.k, choice.block_k)
    share = ceil_div(blocks, arch.processors)  # tiles per multiprocessor
    work = share * steps * choice.block_k * problem.element_bytes / 2
    stays = choice.grid < blocks
    resident = 1 if stays else min(_resident(choice, problem, arch), share)
    rate = pace.products * _efficiency(choice, len(problem.columns))
    if group == THREAD:  # latency-bound on shared memory
        rate *= min(1, resident * choice.threads / BUSY)
    products = work * choice.block_m * choice.block_n / rate
    gathers = choice.gathers(problem)
    gather = GATHER if gathers else 1
    traffic = work * 2 * (choice.block_m * gather + choice.block_n) / pace.traffic
    shared = choice.block_m * gather / choice.cluster_columns + choice.block_n / choice.cluster_rows
    multicast = traffic - work * 2 * shared / pace.traffic
    results = (1 + problem.residuals) * problem.m * problem.n
    is_partial = choice.block_n < problem.n and choice.block_n * problem.result_bytes % LINE
    if group == WARP_GROUP and problem.residuals and is_partial:
        results *= PARTIAL
    memory = problem.memory_time(results, arch)
    rounds = share if stays else ceil_div(share, resident)
    streams = stays and problem.streams and not gathers
    fetched = rounds * (steps + (0 if streams else min(choice.stages, steps)))
    waiting = fetched * max(pace.latency / max(choice.stages - 1, 0.5), pace.step)
    times = (products, traffic, memory, waiting)
    start = LAUNCH + START * (1 if stays else rounds)
    start += (CLUSTER + CLUSTER_TILE * share) * (choice.cluster > 1)
    beside = pace.beside * (sum(times) - max(times) - multicast) + pace.waiting * waiting
    # Stores of resident blocks overlap for FMA, not for tensor cores.
    staged = choice.epilogue == STAGED
    stored = 1 if staged else share / (resident if group == THREAD else 1)
    size = choice.block_m * choice.block_n * problem.result_bytes
    kept = sum(problem.stored) / problem.n if problem.stored else 1
    stores = stored * size * kept / (STAGED_STORES if staged else pace.stores)
    turns = (share - 1) * TURN if stays and staged else 0
    is_large = problem.batch * problem.m * problem.n >= LARGE * arch.processors
    epilogue = _epilogue(choice, problem, share) if is_large else 0  # else latency dominates
    if is_large and choice.schedule == COOPERATIVE:
        # Memory that is busy with residuals hides the rest.
        epilogue = max(0, epilogue - max(times) + max(products, traffic, waiting))
    return max(times) + beside + stores + turns + start + epilogue


def _epilogue(choice: Blocking, problem: Problem, share: int) -> float:
    """Return the time in microseconds that epilogues add if a multiprocessor has `share` tiles."""
    elements = choice.block_m * choice.block_n
    residuals = problem.residuals * problem.result_bytes
    tile = elements * (problem.operations / OPERATIONS + residuals / RESIDUALS)
    if choice.schedule == PINGPONG:  # nothing hides the epilogue of the last tile
        return (share * EXPOSED + 1 - EXPOSED) * tile
    per_thread = elements // choice.threads
    registers = per_thread + per_thread * residuals // REGISTER_BYTES
    return share * (tile + (registers > CROWDED) * elements * residuals / LATE_RESIDUALS)


def _efficiency(choice: Blocking, products: int) -> float:
    """Return the fraction of peak throughput, limited by shared memory bandwidth.

    Warps load fragments, the more often the smaller their tile is; wgmma loads 64 rows of A per
    instruction, of which each of `products` matmuls has one per tile.
    """
    warp_m, warp_n = choice.block_m / choice.rows, choice.block_n / choice.columns
    if choice.instruction == FMA:  # the next fragments of transposed tiles are prefetched
        loads = (warp_m + warp_n) * (PREFETCHED if choice.arrangement == TRANSPOSED else 1)
        return warp_m * warp_n / (warp_m * warp_n + loads)
    if choice.group == WARP_GROUP:
        columns = warp_n / products
        # In the time of 16 columns, 128 bytes per cycle load half of the 64 rows.
        return min(columns / (columns + 8.5), 2 * columns / (columns + 64))
    return warp_m * warp_n / (warp_m * warp_n + 30 * (warp_m + warp_n))


def _resident(choice: Blocking, problem: Problem, arch: Arch) -> int:
    threads = choice.threads
    registers = 48 + choice.block_m * choice.block_n // threads * 5 // 4
    shared = choice.shared_bytes(problem) + ALIGNMENT
    return max(1, Footprint(threads, shared, registers).residents(arch))
