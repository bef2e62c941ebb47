"""How a product with a few rows is shared by threads: the choices, and an estimate of their times.

What counts is how many bytes of the matrix are on their way at a time.
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
class Sharing(Config):
    """How the threads of a block share a matrix [k, n] that some rows are multiplied by.

    Attributes:
        along: the dimension along which the matrix lies in memory, `k` or `n`.
        vector: how many neighbours along it a thread loads at once.
        lanes: how many threads share an element of the product, each with a part of k.
        groups: how many such teams a block has, side by side along n.
        unroll: how many vectors along k, of rows where these lie along n, a thread has at a time.
        columns: how many vectors along n, of columns where these lie along k, it has.
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
                f"a matrix of the template gemv does not lie along {self.along!r}",
                hint="along = k or n, the dimension whose neighbours are neighbours in memory",
            )

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return self.lanes * self.groups

    @property
    def held(self) -> int:
        """How many elements of the matrix a thread loads before it multiplies them."""
        return self.vector * self.unroll * self.columns

    @property
    def depth(self) -> int:
        """How much of k a block has at a time."""
        return self.lanes * self.unroll * (self.vector if self.along == "k" else 1)

    @property
    def width(self) -> int:
        """How many columns a block computes."""
        return self.groups * self.columns * (self.vector if self.along == "n" else 1)

    def sums(self, rows: int) -> int:
        """Return how many elements of the product a thread has."""
        return rows * self.width // self.groups

    def tasks(self, rows: int) -> TaskMap:
        """Return who multiplies what in a step: the products (row, k, column) of a thread.

        Neighbouring threads load what lies next to each other.
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
        """Return how many blocks there are."""
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
"""A thread of a CPU shares its sums with nobody: it would have to wait for the others."""

MAX_HELD_BYTES = 128
"""What a thread holds of the matrix at most: other things need registers, too."""

MAX_SUMS = 32
"""How many elements of the product a thread has at most."""

MAX_PRODUCTS = 256
"""How many products a thread computes in a step at most: all of them are spelled out."""

BURST_BYTES = 64
"""What memory gives at a time: neighbouring threads load at least so much."""

LOADING = 0.7
"""The part of what threads hold that is on its way at a time; the other is being multiplied."""

EXCHANGE = 0.05
"""Microseconds that it takes to combine sums with those of one more thread, or of twice as many."""


SHORT, HELD, CROWDED = 33.0, 0.6e-3, 0.07
"""What more the loads take, as a share of their time: of rows, times their bytes; for each byte
that a thread holds; of blocks of more than half a multiprocessor's threads. Fitted to 44 kernels on
an H200, of which the estimates tell the times to 4%."""


def sharings(problem: Problem, along: str, run: int, arch: Arch) -> list[Sharing]:
    """Return the ways to share a problem on a machine, the best estimate first.

    None where the products of all rows take longer than the loads of the matrix.

    Args:
        problem: the product.
        along: the dimension along which the matrix lies in memory, `k` or `n`.
        run: how many neighbours along it can be loaded at once.
        arch: the machine.
    """
    if not is_bound_by_memory(problem, arch):
        return []
    if arch.is_cpu:
        return [Sharing(along, run, *numbers) for numbers in CPU_CHOICES]
    choices = [Sharing(along, run, *numbers) for numbers in GPU_CHOICES]
    fitting = [each for each in choices if fits(each, problem, arch)]
    return sorted(fitting, key=lambda each: estimate(each, problem, arch))


def is_bound_by_memory(problem: Problem, arch: Arch) -> bool:
    """Return whether a machine multiplies all rows in a third of the time that it loads a matrix.

    Each element costs a multiply-add for each row, the conversion to the type of the sums, and a
    share in the loads of the rows. On an H200 four rows of f16 took longer than eight on tensor
    cores.
    """
    kind = "f64" if problem.total == "f64" else "f32"
    instructions = arch.rates.get(kind, 0) / 2
    elements = arch.bandwidth / problem.element_bytes
    return (problem.m + 2) * elements <= instructions / 3


def fits(choice: Sharing, problem: Problem, arch: Arch) -> bool:
    """Return whether what threads hold fits into registers, and neighbours load whole bursts."""
    neighbours = choice.lanes if choice.along == "k" else choice.groups
    return (
        choice.held * problem.element_bytes <= MAX_HELD_BYTES
        and choice.sums(problem.m) <= MAX_SUMS
        and footprint(choice, problem).residents(arch) > 0
        and choice.held * problem.m <= MAX_PRODUCTS
        and neighbours * choice.vector * problem.element_bytes >= BURST_BYTES
    )


LATENCY = 0.8
"""Microseconds from the request of an element to its product, where nothing else is in the way."""


def footprint(choice: Sharing, problem: Problem) -> Footprint:
    """Return about what a block takes of a multiprocessor."""
    held = choice.held * problem.element_bytes // 4
    return Footprint(choice.threads, 0, 32 + choice.sums(problem.m) + held)


def estimate(choice: Sharing, problem: Problem, arch: Arch) -> float:
    """Return about how many microseconds a product takes.

    The time to load the matrix, at the speed of memory or at that which what is on its way allows;
    a part of that to convert and multiply; and that to combine partial sums.
    """
    rows = problem.m * choice.depth // choice.lanes  # of these a thread loads so many elements
    share = ceil_div(choice.blocks(problem), arch.processors)  # of one multiprocessor
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
