"""How a product of matrices is cut into blocks: the choices, and an estimate of their times."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from math import prod

from hidet.analysis.im2col import has_tiles
from hidet.arch.chips import Arch
from hidet.arch.hopper import WGMMA
from hidet.arch.instructions import FMA, MMA_SYNC
from hidet.arch.limits import WARP, WARP_GROUP
from hidet.arch.products import product_named
from hidet.lowering.templates.base import ceil_div
from hidet.lowering.templates.config import MAX_CHOICE, STRIPED, Config
from hidet.lowering.templates.legality import Footprint, Rejected
from hidet.lowering.templates.problem import Problem

STAGED = "staged"
"""The epilogue of results that go through shared memory."""

SLOTS = 2
"""The pieces of a warp group's results that are in shared memory at a time."""


def pieces_of(columns: int, element_bytes: int) -> int:
    """Return in how many pieces of columns a warp group stores its results: lines, or one of all.

    A number of them that the slots divide, so that each has a slot of its own.
    """
    line = LINE // element_bytes
    return columns // line if columns % (SLOTS * line) == 0 else 1


LINE = 128
"""The bytes of a line of the caches, and of all banks."""


@dataclass(frozen=True)
class Blocking(Config):
    """How a product is cut into blocks, and who computes what of one.

    Attributes:
        instruction: `fma`, or a name that `hidet.arch.products.find_product` knows.
        block_m: the rows of the tile of a block.
        block_n: its columns, those of the tiles of all products together.
        block_k: how much of k is in shared memory at a time.
        rows: how many workers share the rows of a tile: threads; warps or warp groups of products
            on tensor cores.
        columns: how many share its columns.
        stages: how many tiles of each operand are in shared memory.
        grid: the most blocks that are launched; they go on to further tiles until none is left.
        epilogue: `direct`, or `staged`: results go through shared memory, and from there by TMA.
        cluster_rows: how many blocks of a cluster lie one below the other, in the same columns.
        cluster_columns: how many lie side by side, in the same rows.
        arrangement: of products by FMA, `blocked`: a thread's elements are neighbours, or
            `striped`: those of neighbouring threads are.
        residents: how many blocks share a multiprocessor, and so its registers, at least.
    """

    instruction: str
    block_m: int
    block_n: int
    block_k: int
    rows: int
    columns: int
    stages: int
    grid: int = MAX_CHOICE
    epilogue: str = "direct"
    cluster_rows: int = 1
    cluster_columns: int = 1
    arrangement: str = "blocked"
    residents: int = 1

    @property
    def threads(self) -> int:
        """The threads of a block."""
        worker = 1 if self.instruction == FMA else product_named(self.instruction).group
        return self.rows * self.columns * worker

    @property
    def cluster(self) -> int:
        """The blocks of a cluster."""
        return self.cluster_rows * self.cluster_columns

    def gathers(self, problem: Problem) -> bool:
        """Return whether threads fetch the left factor, vector by vector, and not TMA."""
        by_tma = self.instruction in WGMMA and has_tiles(self.block_k, problem.channels, problem.k)
        return problem.gathered and not by_tma

    def shared_bytes(self, problem: Problem) -> int:
        """Return the shared memory of a block."""
        factors = (self.block_m + self.block_n) * self.block_k * self.stages
        results = 0
        for columns in problem.stored or (problem.n,):
            own = self.block_n * columns // problem.n
            pieces = pieces_of(own, problem.result_bytes) if self.columns == 1 else 1
            staged = self.block_m * own * min(pieces, SLOTS) // pieces
            results += staged if self.epilogue == STAGED else 0
        return factors * problem.element_bytes + results * problem.result_bytes

    def refusal(self, problem: Problem, arch: Arch) -> str | None:
        """Return why a machine cannot run it, or None where it can."""
        sums = self.block_m * self.block_n // self.threads
        # Tiles that warp groups take start at a multiple of so many bytes.
        spare = ALIGNMENT if self.instruction in WGMMA else 0
        shared = self.shared_bytes(problem) + spare
        return Footprint(self.threads, shared, sums).refusal(arch)

    def shares(self, problem: Problem) -> list[int]:
        """Return the columns of a tile of each product; together they are those of a block."""
        return [self.block_n * columns // problem.n for columns in problem.columns]

    def clusters(self, problem: Problem) -> tuple[int, int]:
        """Return how many clusters cover the rows of a matrix, and its columns."""
        return (
            ceil_div(problem.m, self.block_m * self.cluster_rows),
            ceil_div(problem.n, self.block_n * self.cluster_columns),
        )

    def tiles(self, problem: Problem) -> int:
        """Return how many tiles the results have, with those that fill up clusters."""
        return problem.batch * prod(self.clusters(problem)) * self.cluster


CPU_FMA = [
    Blocking(FMA, 8 * rows, 8 * columns, 16, 8, 8, 1) for rows in (8, 4, 2, 1) for columns in (8, 4)
]
"""A CPU waits for no memory behind other threads, and switching between them takes time, so a block
has few of them with much to do."""

FMA_TILES = (
    *((128, 128, 16, 16), (128, 64, 16, 16), (64, 128, 16, 16), (64, 64, 16, 16)),
    *((64, 64, 8, 8), (64, 32, 8, 8), (32, 64, 8, 8), (32, 32, 8, 8), (16, 64, 8, 8)),
)
"""Tiles for threads: rows and columns, and how many threads share each."""

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
"""Tiles for tensor cores: rows and columns, and how many warps share each."""

WGMMA_TILES = (
    *((128, columns, 2, 1) for columns in (64, *range(96, 257, 16))),
    *((256, columns, 2, 1) for columns in range(64, 129, 16)),
    *((64, columns, 1, 1) for columns in (32, 48, 64, 96, 128, 192, 256)),
    (64, 256, 1, 2),
)
"""Tiles for warp groups of tensor cores: rows and columns, and how many groups share each. Of many
widths one makes whole waves; multiples of 16 can be swizzled in either order."""

DEPTH = LINE
"""The bytes of k of a tile for tensor cores. Half of it took 1.1 to 1.3 times as long (H200)."""

SMALL_TILE = 64 * 128
"""Tiles of up to so many elements may also have two lines of k: their steps are short."""

STAGES = (2, 3, 4, 5, 6, 8, 11, 15)
"""Products with few tiles wait for memory, the less the more of it is on its way."""

MMA_COLUMNS, WGMMA_UNIT = 8, 16
"""Of so many columns is a tile of several products a multiple for each worker."""

MMA_STAGES = 8
"""Where all threads ask for tiles the code that asks for the first ones is long."""


@cache
def candidates(problem: Problem, arch: Arch) -> Sequence[Blocking]:
    """Return the blockings of a problem that a machine can run, the best estimate first.

    Those for tensor cores, where there are any, else those for FMA.
    """
    fitting = [each for each in _tensor_cores(problem, arch) if not each.refusal(problem, arch)]
    if not fitting:
        fitting = [each for each in _fma(problem, arch) if not each.refusal(problem, arch)]
    return tuple(sorted(fitting, key=lambda each: estimate(each, problem, arch)))


def refused(problem: Problem, arch: Arch) -> list[Rejected]:
    """Return the blockings of a problem for tensor cores that a machine cannot run, with why."""
    reasons = ((each, each.refusal(problem, arch)) for each in _tensor_cores(problem, arch))
    return [Rejected(each, reason) for each, reason in reasons if reason is not None]


def _fma(problem: Problem, arch: Arch) -> list[Blocking]:
    """Return the blockings for threads."""
    if arch.is_cpu:
        return [each for each in CPU_FMA if _is_shared(each.block_n, each.columns, problem)]
    return [
        Blocking(FMA, *tile[:2], depth, *tile[2:], stages, arrangement=STRIPED, residents=residents)
        for tile in FMA_TILES
        for depth, stages in product((16, 32), (1, 3))
        for residents in (2 * BUSY // (tile[2] * tile[3]),)
        if _is_shared(tile[1], tile[3], problem)
    ]


def _is_shared(block_n: int, unit: int, problem: Problem) -> bool:
    """Return whether products can share the columns of a block, by whole units of columns."""
    return all(block_n * columns % (problem.n * unit) == 0 for columns in problem.parts)


def _tensor_cores(problem: Problem, arch: Arch) -> Iterator[Blocking]:
    """Give the blockings of a problem for tensor cores."""
    if not arch.is_cpu:  # which has their instructions, but they cost it what FMA costs
        yield from _mma(problem, arch)
        yield from _wgmma(problem, arch)


def _mma(problem: Problem, arch: Arch) -> Iterator[Blocking]:
    """Give the blockings of a problem for warps."""
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
    """Give the blockings of a problem for warp groups."""
    depth = 32 // problem.element_bytes
    for block_m, block_n, rows, columns in WGMMA_TILES:
        widest = block_n * max(problem.columns) // (problem.n * columns)
        name = f"m64n{widest}k{depth}_{problem.kind}_{problem.total}"
        if (
            not _is_shared(block_n, WGMMA_UNIT * columns, problem)
            or name not in WGMMA
            or not WGMMA[name].runs_on(arch)
            or block_m >= 4 * problem.m  # mostly padding: there are smaller tiles for warps
        ):
            continue
        for block_k, stages in _depths(block_m * block_n, problem):
            single = Blocking(name, block_m, block_n, block_k, rows, columns, stages)
            for choice in (single, *_clusters(single, problem)):
                yield choice
                if choice.tiles(problem) > arch.processors:
                    choice = replace(
                        choice, grid=arch.processors // choice.cluster * choice.cluster
                    )
                    yield choice
                yield replace(choice, epilogue=STAGED)


def _depths(size: int, problem: Problem) -> Iterator[tuple[int, int]]:
    """Give how much of k a tile may have, and how many are on their way: no more than there are.

    Args:
        size: the elements of the tile of results.
        problem: the problem.
    """
    line = DEPTH // problem.element_bytes
    for depth in (line, 2 * line) if size <= SMALL_TILE else (line,):
        for stages in STAGES:
            if stages <= max(STAGES[0], ceil_div(problem.k, depth) + 1):
                yield depth, stages


def _clusters(choice: Blocking, problem: Problem) -> Iterator[Blocking]:
    """Give the way to have two blocks share what one of them fetches, with none left over."""
    rows, columns = choice.clusters(problem)
    if rows % PAIR == 0:
        yield replace(choice, cluster_rows=PAIR)
    elif columns % PAIR == 0:
        yield replace(choice, cluster_columns=PAIR)


PAIR = 2
"""The blocks of a cluster. Multiprocessors come in pairs, so that pairs leave none of them out."""

ALIGNMENT = 1024
"""What is kept free for shared tiles to start at a multiple of so many bytes."""

THREAD = 1


@dataclass(frozen=True)
class Pace:
    """What a multiprocessor of an H200 does in a microsecond, and how long it waits.

    Attributes:
        products: its multiply-adds of 16-bit numbers.
        traffic: the bytes that it reads from the L2 cache.
        stores: the bytes of results that it writes out of registers.
        latency: the microseconds from the request of a tile to its product, where nothing else is
            in the way.
        step: the microseconds that a step takes at least.
        beside: the part of a time that counts beside a longer one.
        waiting: the part of the time of waiting that counts beside all others.
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
"""By the threads that share an instruction: FMA, `mma.sync` and `wgmma`."""

BUSY = 256
"""So many threads keep a multiprocessor busy with FMA."""

STAGED_STORES = 80e3
"""The bytes of results that a multiprocessor writes in a microsecond through shared memory."""

TURN = 0.48
"""Microseconds from one tile of a block that stays to the next."""

GATHER = 2.7
"""How many times what is gathered takes as long to fetch."""

BANDWIDTH = 0.95
"""The part of the bandwidth of memory that products reach."""

LAUNCH, START = 0.55, 0.63
"""Microseconds that a kernel takes to begin, and a block."""

CLUSTER = 0.9
"""Microseconds for the blocks of a cluster to wait for each other. What they share comes out of the
L2 cache anyway: that it is read once has saved nothing that could be seen."""


def estimate(choice: Blocking, problem: Problem, arch: Arch) -> float:
    """Return about how many microseconds a product takes, fitted to times on an H200.

    The largest of four times counts: of the products, of the traffic with L2, of that with memory,
    and of waiting for one tile after the other. The results are written after it, unless they go
    through shared memory, beside the next product.
    """
    blocks = choice.tiles(problem)
    if arch.is_cpu:  # no time: what the products of a block are, and the loads that they wait for
        work = choice.block_m * choice.block_n + 16 * (choice.block_m + choice.block_n)
        return ceil_div(blocks, 2 * arch.processors) * work
    group = THREAD if choice.instruction == FMA else product_named(choice.instruction).group
    pace = PACES[group]
    steps = ceil_div(problem.k, choice.block_k)
    share = ceil_div(blocks, arch.processors)  # what one multiprocessor has to do
    work = share * steps * choice.block_k * problem.element_bytes / 2
    stays = choice.grid < blocks
    resident = 1 if stays else min(_resident(choice, problem, arch), share)
    rate = pace.products * _efficiency(choice, len(problem.columns))
    if group == THREAD:  # each waits for its shared memory
        rate *= min(1, resident * choice.threads / BUSY)
    products = work * choice.block_m * choice.block_n / rate
    gathers = choice.gathers(problem)
    gather = GATHER if gathers else 1
    traffic = work * 2 * (choice.block_m * gather + choice.block_n) / pace.traffic
    elements = problem.m * problem.k + problem.k * problem.n + problem.m * problem.n
    memory = problem.batch * elements * problem.element_bytes / (BANDWIDTH * arch.bandwidth) * 1e6
    rounds = share if stays else ceil_div(share, resident)
    streams = stays and problem.streams and not gathers
    fetched = rounds * (steps + (0 if streams else min(choice.stages, steps)))
    waiting = fetched * max(pace.latency / max(choice.stages - 1, 0.5), pace.step)
    times = (products, traffic, memory, waiting)
    start = LAUNCH + START * (1 if stays else rounds) + CLUSTER * (choice.cluster > 1)
    beside = pace.beside * (sum(times) - max(times)) + pace.waiting * waiting
    # Those of blocks side by side hide each other's with FMA; those of tensor cores do not.
    staged = choice.epilogue == STAGED
    stored = 1 if staged else share / (resident if group == THREAD else 1)
    size = choice.block_m * choice.block_n * problem.result_bytes
    kept = sum(problem.stored) / problem.n if problem.stored else 1
    stores = stored * size * kept / (STAGED_STORES if staged else pace.stores)
    turns = (share - 1) * TURN if stays and staged else 0
    return max(times) + beside + stores + turns + start


def _efficiency(choice: Blocking, products: int) -> float:
    """Return what part of their rate products reach, for what they read from shared memory.

    Warps read fragments, the more often the smaller their tile is; warp groups 64 rows of the left
    operand for as many columns as an instruction has, of one of so many products.
    """
    warp_m, warp_n = choice.block_m / choice.rows, choice.block_n / choice.columns
    if choice.instruction == FMA:
        return warp_m * warp_n / (warp_m * warp_n + warp_m + warp_n)
    if product_named(choice.instruction).group == WARP_GROUP:
        columns = warp_n / products
        # In 16 columns' time 128 bytes a cycle bring half of the 64 rows.
        return min(columns / (columns + 8.5), 2 * columns / (columns + 64))
    return warp_m * warp_n / (warp_m * warp_n + 30 * (warp_m + warp_n))


def _resident(choice: Blocking, problem: Problem, arch: Arch) -> int:
    """Return how many blocks a multiprocessor holds at a time."""
    registers = 48 + choice.block_m * choice.block_n // choice.threads * 5 // 4
    shared = choice.shared_bytes(problem) + ALIGNMENT
    return max(1, Footprint(choice.threads, shared, registers).residents(arch))
