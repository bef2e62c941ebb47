"""Distribution of matmuls with few rows over threads: the search space, and a cost model.

Performance depends on the bytes of the matrix in flight.
"""

from dataclasses import dataclass
from itertools import product

from hidet.arch.chips import Arch
from hidet.arch.limits import WARP
from hidet.errors import ScheduleError
from hidet.lowering.templates.base import ceil_div
from hidet.lowering.templates.config import Config
from hidet.lowering.templates.legality import Footprint
from hidet.lowering.templates.problem import Problem
from hidet.mapping import TaskMap, repeat, spatial


@dataclass(frozen=True)
class GemvConfig(Config):
    """The distribution of a matrix [k, n] over the threads of a block.

    Attributes:
        along: the contiguous dimension of the matrix, `k` or `n`.
        vector: the elements of a vector load along it.
        lanes: the threads per output element, each with a part of K.
        groups: the number of such teams per block, along N.
        unroll: the vectors of a thread along K (rows, if N is contiguous).
        columns: the vectors of a thread along N (columns, if K is contiguous).
    """

    along: str
    vector: int
    lanes: int
    groups: int
    unroll: int
    columns: int

    def __post_init__(self) -> None:
        if self.along not in ("k", "n"):
            raise ScheduleError(
                f"a matrix of the template gemv is not contiguous along {self.along!r}",
                hint="along = k or n, the contiguous dimension",
            )

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return self.lanes * self.groups

    @property
    def held(self) -> int:
        """The matrix elements that a thread loads before it multiplies them."""
        return self.vector * self.unroll * self.columns

    @property
    def depth(self) -> int:
        """The extent of K per iteration of a block."""
        return self.lanes * self.unroll * (self.vector if self.along == "k" else 1)

    @property
    def width(self) -> int:
        """The columns of a block."""
        return self.groups * self.columns * (self.vector if self.along == "n" else 1)

    def sums(self, rows: int) -> int:
        """Return the accumulators of a thread."""
        return rows * self.width // self.groups

    def tasks(self, rows: int) -> TaskMap:
        """Return the map of the products (row, k, column) of an iteration to threads.

        Adjacent threads load adjacent vectors.
        """
        if self.along == "k":
            return (
                spatial(1, 1, self.groups)
                * repeat(rows, self.unroll, self.columns)
                * spatial(1, self.lanes, 1)
                * repeat(1, self.vector, 1)
            )
        return (
            repeat(1, 1, self.columns)
            * spatial(1, self.lanes, self.groups)
            * repeat(rows, self.unroll, self.vector)
        )

    def blocks(self, problem: Problem) -> int:
        """Return the number of blocks."""
        return problem.batch * ceil_div(problem.n, self.width)


GPU_CHOICES = [
    (lanes, threads // lanes, unroll, columns)
    for lanes, threads, unroll, columns in product(
        (4, 8, 16, 32, 64, 128, 256), (128, 256, 512, 1024), (1, 2, 4, 8), (1, 2, 4, 8)
    )
    if lanes <= threads
]
"""Lanes, groups, unroll, columns."""

CPU_CHOICES = [(1, 1, 8, 4)]
"""CPU threads share no sums, to avoid synchronization."""

MAX_HELD_BYTES = 128
"""The most bytes of the matrix in registers of a thread."""

MAX_SUMS = 32
"""The most accumulators of a thread."""

MAX_PRODUCTS = 256
"""The most products of a thread per iteration, which are unrolled."""

BURST_BYTES = 64
"""The memory transaction size, which adjacent threads load at least."""

LOADING = 0.7
"""The fraction of the loaded elements that is in flight; the rest is being multiplied."""

EXCHANGE = 0.05
"""Microseconds of a step of the reduction across threads."""


SHORT, HELD, CROWDED = 33.0, 0.6e-3, 0.07
"""Relative overhead of loads: of rows, times their bytes; per byte held by a thread; of blocks of
more than half a multiprocessor's threads. Fitted to 44 kernels on an H200 with an error of 4%."""


def candidates(problem: Problem, along: str, run: int, arch: Arch) -> list[GemvConfig]:
    """Return the configs of a problem, best estimate first.

    The matrix is contiguous in `run` elements along dimension `along`.
    """
    if arch.is_cpu:
        return [GemvConfig(along, run, *numbers) for numbers in CPU_CHOICES]
    choices = [GemvConfig(along, run, *numbers) for numbers in GPU_CHOICES]
    fitting = [each for each in choices if fits(each, problem, arch)]
    return sorted(fitting, key=lambda each: estimate(each, problem, arch))


def is_bound_by_memory(problem: Problem, arch: Arch) -> bool:
    """Return whether computing all rows takes a third of the time to load the matrix.

    Each element takes a multiply-add per row, a conversion to the accumulator type, and a share of
    the loads of the rows. On an H200, four rows of f16 were slower than eight on tensor cores.
    """
    kind = "f64" if problem.total == "f64" else "f32"
    instructions = arch.rates.get(kind, 0) / 2
    elements = arch.bandwidth / problem.element_bytes
    return (problem.m + 2) * elements <= instructions / 3


def fits(choice: GemvConfig, problem: Problem, arch: Arch) -> bool:
    """Return whether registers suffice, and adjacent threads load whole transactions."""
    neighbours = choice.lanes if choice.along == "k" else choice.groups
    return (
        choice.held * problem.element_bytes <= MAX_HELD_BYTES
        and choice.sums(problem.m) <= MAX_SUMS
        and footprint(choice, problem).residents(arch) > 0
        and choice.held * problem.m <= MAX_PRODUCTS
        and neighbours * choice.vector * problem.element_bytes >= BURST_BYTES
    )


LATENCY = 0.8
"""Microseconds from the request of an element to its use, without contention."""


def footprint(choice: GemvConfig, problem: Problem) -> Footprint:
    """Return the estimated resources of a block."""
    held = choice.held * problem.element_bytes // 4
    return Footprint(choice.threads, 0, 32 + choice.sums(problem.m) + held)


def estimate(choice: GemvConfig, problem: Problem, arch: Arch) -> float:
    """Return the estimated time in microseconds.

    It is the time to load the matrix at the memory bandwidth or at the rate that bytes in flight
    allow, a fraction of the compute time, and the time of the reduction across threads.
    """
    rows = problem.m * choice.depth // choice.lanes  # row elements that a thread loads
    share = ceil_div(choice.blocks(problem), arch.processors)  # blocks per multiprocessor
    resident = min(share, footprint(choice, problem).residents(arch))
    step = choice.depth * choice.width * problem.element_bytes
    work = share * ceil_div(problem.k, choice.depth)
    speed = min(arch.bandwidth / arch.processors * 1e-6, LOADING * resident * step / LATENCY)
    instructions = choice.threads * ((problem.m + 1) * choice.held + rows)
    rate = arch.rates["f32"] / 2 / arch.processors * 1e-6
    exchanges = choice.lanes.bit_length() - 1 + (choice.lanes > WARP) * choice.sums(problem.m)
    run = choice.depth if choice.along == "k" else choice.width
    uneven = SHORT / (run * problem.element_bytes) + HELD * choice.held * problem.element_bytes
    uneven += CROWDED * (2 * choice.threads > arch.threads_per_processor)
    loads = work * (step / speed * (1 + uneven) + 0.3 * instructions / rate)
    return loads + ceil_div(share, resident) * EXCHANGE * exchanges
