"""A cost model of the template `matmul`: the run times of tilings."""

from dataclasses import dataclass
from math import gcd, prod
from typing import TypeAlias

from hidet.arch.chips import Arch
from hidet.arch.instructions import FMA
from hidet.arch.limits import REGISTER_BYTES, WARP, WARP_GROUP
from hidet.lowering.templates.base import ceil_div
from hidet.lowering.templates.blocking import (
    ALIGNMENT,
    DIRECT,
    LINE,
    PINGPONG_TILE,
    STAGED_RESIDUAL,
    THREAD,
    Blocking,
)
from hidet.lowering.templates.config import COOPERATIVE, PINGPONG, STRIPED
from hidet.lowering.templates.legality import Footprint
from hidet.lowering.templates.problem import Problem


@dataclass(frozen=True)
class Pace:
    """The throughput and latency of a multiprocessor of an H200, per microsecond.

    Attributes:
        products: multiply-adds of 16-bit numbers.
        traffic: bytes read from the L2 cache by one of them alone.
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
    THREAD: Pace(4.46e5, 129e3, 46e3, 0.43, 0.074, 0.35, 0.13),
    WARP: Pace(2.36e6, 120e3, 15.9e3, 0.4, 0.058, 0.144, 0.1),
    WARP_GROUP: Pace(3.6e6, 170e3, 20e3, 0.56, 0.058, 0.144, 0.1),
}
"""By the threads of an instruction: FMA, `mma.sync` and `wgmma`."""

BUSY = 256
"""The threads that saturate a multiprocessor with FMA."""

FRAGMENTS = 0.72
"""The time of an element of a fragment relative to an FMA of it (14 matmuls of f32 by 36 tilings,
H200: the first choice has 0.98 of the speed of the best one, geometric mean)."""

FULL_REGISTERS, FULL = 128, 0.78
"""With as many registers of a thread for sums and 16 bytes of each row and column, as striped tiles
are loaded, FMAs have this fraction of their throughput."""

STAGED_STORES = 80e3
"""The bytes of results stored through shared memory per microsecond and multiprocessor."""

TURN = 0.48
"""Microseconds between two tiles of a persistent block."""

GATHER, GATHER_STEP = 2.7, 0.08
"""The slowdown of gathered loads, and the minimum microseconds of an iteration with them."""

PARTIAL = 1.4
"""The slowdown of accesses to results and residuals by tiles with rows of partial cache lines (1x1
convolutions, H100)."""

WIDENING = {128: 1.0, 64: 1.5, 32: 2.5}
"""The slowdown of TMA loads by the bytes of a swizzled row: narrow rows take as long (H100)."""

CACHE = 100e3
"""The bytes per microsecond and multiprocessor that the L2 cache delivers if all of them load tiles
by TMA (convolutions and matmuls with K from 256 to 18432, H100, H200). Consumers that take turns
reach more."""

LAUNCH, START = 0.55, 0.63
"""Microseconds to start a kernel, and a block."""

CLUSTER, CLUSTER_TILE = 0.9, 0.25
"""Microseconds to synchronize a cluster, once and per tile. Multicast saves L2 traffic: 3 to
13% of the time of matmuls from 4096 on that run back to back (H100)."""

OPERATIONS, RESIDUALS = 217e3, 22e3
"""The operations of an epilogue per microsecond and multiprocessor, one a cycle in each of 128
lanes, and the bytes of residuals that it loads in the layout of accumulators (H200)."""

CROWDED, LATE_RESIDUALS = 128, 67e3
"""With as many registers of a thread for accumulators and residuals, cooperating warp groups wait
longer for residuals: the bytes per microsecond and multiprocessor (1x1 convolutions, H100)."""

LARGE = prod(PINGPONG_TILE)
"""The elements of a result per multiprocessor from which the time of epilogues matters."""

EXPOSED = 0.3
"""The fraction of an epilogue that is not hidden if consumers take turns (H200)."""


Throughput: TypeAlias = tuple[float, float, float, float]
"""The times of the tensor cores, the L2 cache for one multiprocessor, the memory, and the L2 cache
for all."""


def estimate(
    choice: Blocking, problem: Problem, arch: Arch, of_tile: Throughput | None = None
) -> float:
    """Return the estimated time in microseconds of a matmul, fitted to measurements on an H200.

    The maximum of compute time, L2 traffic, memory traffic and latency dominates. Results are
    stored after it, or, if staged, overlap with the next tile. `of_tile` is what `throughput`
    returns for any tiling with the same tile.
    """
    blocks = choice.tiles(problem)
    if arch.is_cpu:  # not a time: the FMAs of a block, and the loads that they wait for
        work = choice.block_m * choice.block_n + 16 * (choice.block_m + choice.block_n)
        return ceil_div(blocks, 2 * arch.processors) * work
    group = choice.group
    pace = PACES[group]
    steps = ceil_div(problem.k, choice.block_k)
    share = ceil_div(blocks, arch.processors)  # tiles per multiprocessor
    stays = choice.grid < blocks
    resident = 1 if stays else min(_resident(choice, problem, arch), share)
    products, traffic, memory, cache = of_tile or throughput(choice, problem, arch)
    if group == THREAD:  # latency-bound on shared memory
        products /= min(1, resident * choice.threads / BUSY)
    gathers = choice.gathers(problem)
    rows = choice.block_m * (GATHER if gathers else 1)
    shared = rows / choice.cluster_columns + choice.block_n / choice.cluster_rows
    multicast = traffic * (1 - shared / (rows + choice.block_n))
    rounds = share if stays else ceil_div(share, resident)
    streams = stays and problem.streams and not gathers
    fetched = rounds * (steps + (0 if streams else min(choice.stages, steps)))
    step = GATHER_STEP if gathers else pace.step
    waiting = fetched * max(pace.latency / max(choice.stages - 1, 0.5), step)
    times = (products, traffic, memory, waiting)
    if choice.schedule == PINGPONG:
        cache = 0
    start = LAUNCH + START * (1 if stays else rounds)
    start += (CLUSTER + CLUSTER_TILE * share) * (choice.cluster > 1)
    beside = pace.beside * (sum(times) - max(times) - multicast) + pace.waiting * waiting
    # Stores of resident blocks overlap for FMA, not for tensor cores.
    staged = choice.epilogue != DIRECT
    stored = 1 if staged else share / (resident if group == THREAD else 1)
    stores = stored * _stored_bytes(choice, problem) / (STAGED_STORES if staged else pace.stores)
    turns = (share - 1) * TURN if stays and staged else 0
    is_large = problem.batch * problem.m * problem.n >= LARGE * arch.processors
    epilogue = _epilogue(choice, problem, share) if is_large else 0  # else latency dominates
    if is_large and choice.schedule == COOPERATIVE:
        # Memory that is busy with residuals hides the rest.
        epilogue = max(0, epilogue - max(times) + max(products, traffic, waiting))
    return max(*times, cache) + beside + stores + turns + start + epilogue


def least_time(tile: Blocking, problem: Problem, arch: Arch, of_tile: Throughput) -> float:
    """Return a lower bound of the estimates of all tilings with the same tile."""
    if arch.is_cpu:
        return estimate(tile, problem, arch)
    pace = PACES[tile.group]
    products, traffic, memory, cache = of_tile
    steps = ceil_div(problem.k, tile.block_k)
    share = ceil_div(tile.tiles(problem), arch.processors)
    # The most stages that the blocks of a multiprocessor have together; `tile` has the fewest.
    fitting = arch.shared_bytes_per_processor // (tile.shared_bytes(problem) // tile.stages)
    stages = min(fitting, share * max(tile.stages, steps + 1))
    fetched = share * (steps + (min(stages, steps) if share == 1 else 0))
    waiting = max(steps * pace.step, fetched * pace.latency / max(stages - 1, 0.5))
    times = (products, traffic, memory, waiting)
    if (tile.block_m, tile.block_n) == PINGPONG_TILE:
        cache = 0
    beside = sum(times) - max(times) - traffic / 2  # at most half is multicast
    stores = _stored_bytes(tile, problem) / STAGED_STORES
    longest = max(*times, cache)
    return longest + pace.beside * beside + pace.waiting * waiting + stores + LAUNCH + START


def throughput(choice: Blocking, problem: Problem, arch: Arch) -> Throughput:
    """Return the times in microseconds, without latencies.

    All tilings with the same tile have the same.
    """
    group = choice.group
    pace = PACES[group]
    steps = ceil_div(problem.k, choice.block_k)
    tiles = choice.tiles(problem)
    share = ceil_div(tiles, arch.processors)
    work = share * steps * choice.block_k * problem.element_bytes / 2
    rate = pace.products * _efficiency(choice, len(problem.columns))
    products = work * choice.block_m * choice.block_n / rate
    rows = choice.block_m * (GATHER if choice.gathers(problem) else 1)
    columns = choice.block_n * _widening(choice, problem)
    traffic = work * 2 * (rows + columns) / pace.traffic
    results = (1 + problem.residuals) * problem.m * problem.n
    is_partial = choice.block_n < problem.n and choice.block_n * problem.result_bytes % LINE
    if group == WARP_GROUP and problem.residuals and is_partial:
        results *= PARTIAL
    loaded = work * 2 * (choice.block_m + columns) * tiles / share  # by all multiprocessors
    cache = loaded / arch.processors / CACHE if group == WARP_GROUP else 0
    return products, traffic, problem.memory_time(results, arch), cache


def _widening(choice: Blocking, problem: Problem) -> float:
    """Return the time to load a tile of B relative to one with rows of cache lines."""
    if choice.group != WARP_GROUP or not problem.is_row_major:
        return 1
    row = gcd(LINE, *(columns * problem.element_bytes for columns in choice.shares(problem)))
    return WIDENING[row]


def _stored_bytes(choice: Blocking, problem: Problem) -> float:
    """Return the bytes of results that are stored of a tile."""
    kept = sum(problem.stored) / problem.n if problem.stored else 1
    return choice.block_m * choice.block_n * problem.result_bytes * kept


def _epilogue(choice: Blocking, problem: Problem, share: int) -> float:
    """Return the time in microseconds that epilogues add if a multiprocessor has `share` tiles."""
    elements = choice.block_m * choice.block_n
    late = problem.residuals - (choice.epilogue == STAGED_RESIDUAL)
    residuals = late * problem.result_bytes
    tile = elements * (problem.operations / OPERATIONS + residuals / RESIDUALS)
    if choice.schedule == PINGPONG:  # nothing hides the epilogue of the last tile
        return (share * EXPOSED + 1 - EXPOSED) * tile
    per_thread = elements // choice.threads
    registers = per_thread + per_thread * residuals // REGISTER_BYTES
    loads = elements * problem.residuals * problem.result_bytes
    return share * (tile + (registers >= CROWDED) * loads / LATE_RESIDUALS)


def _efficiency(choice: Blocking, products: int) -> float:
    """Return the fraction of peak throughput, limited by shared memory bandwidth.

    Warps load fragments, the more often the smaller their tile is; wgmma loads 64 rows of A per
    instruction, of which each of `products` matmuls has one per tile.
    """
    warp_m, warp_n = choice.block_m / choice.rows, choice.block_n / choice.columns
    if choice.instruction == FMA:
        rate = warp_m * warp_n / (warp_m * warp_n + FRAGMENTS * (warp_m + warp_n))
        is_full = warp_m * warp_n + 4 * (warp_m + warp_n) >= FULL_REGISTERS
        return rate * FULL if choice.arrangement == STRIPED and is_full else rate
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
