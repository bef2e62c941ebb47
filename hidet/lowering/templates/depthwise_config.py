"""Configs of depthwise convolutions, and a cost model of their run times."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from hidet.analysis.contiguity import contiguous_run
from hidet.arch.chips import Arch
from hidet.arch.limits import ACCESS_BYTES, WARP
from hidet.dialects.graph import DepthwiseConv2dOp
from hidet.dialects.shaped import bytes_of, element_of, shape_of
from hidet.errors import ScheduleError
from hidet.lowering.templates.base import ceil_div
from hidet.lowering.templates.config import Config
from hidet.mapping import TaskMap, repeat, replicate


@dataclass(frozen=True)
class Depthwise:
    """A depthwise convolution.

    Attributes:
        shape: the images, rows, pixels and channels of the result.
        kernel: the rows and columns of a filter.
        stride: the distance of window positions.
        dilation: the distance of window elements.
        vector: the most channels of an access.
        sum_bytes: the size of a sum.
    """

    shape: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    vector: int
    sum_bytes: int = 4

    @classmethod
    def of(cls, op: DepthwiseConv2dOp) -> Depthwise:
        """Return the problem of an operator."""
        window, widest = op.window, ACCESS_BYTES // bytes_of(element_of(op.x))
        runs = [contiguous_run(op.x, [3]).length, contiguous_run(op.weight, [2]).length]
        return cls(
            shape=shape_of(op.result),
            kernel=window.kernel,
            stride=window.stride,
            dilation=window.dilation,
            vector=min(widest, *runs),
            sum_bytes=max(4, bytes_of(element_of(op.result))),
        )


@dataclass(frozen=True)
class DepthwiseConfig(Config):
    """The distribution of a result over threads.

    Attributes:
        threads: the threads of a block.
        parts: the threads that share a run, each with some rows of the filters.
        pixels: the adjacent pixels of a run, of one row of the result.
        vector: the adjacent channels of a run.
    """

    threads: int
    parts: int
    pixels: int
    vector: int

    @property
    def runs(self) -> int:
        """The number of runs of a block."""
        return self.threads // self.parts

    def check(self, problem: Depthwise) -> None:
        """Raise `ScheduleError` unless runs of the same size cover a result."""
        pixels = problem.shape[2]
        if pixels % self.pixels or problem.vector % self.vector or self.threads % self.parts:
            raise ScheduleError(
                f"{self} does not fit rows of {pixels} pixels and vectors of up to "
                f"{problem.vector} channels",
                hint="pixels and vector divide them, and parts divides threads",
            )

    def runs_of(self, problem: Depthwise) -> tuple[int, ...]:
        """Return the numbers of runs by image, row, pixels and channels."""
        images, rows, pixels, channels = problem.shape
        return images, rows, pixels // self.pixels, channels // self.vector

    def count(self, problem: Depthwise) -> int:
        """Return the number of runs of a result."""
        return prod(self.runs_of(problem))

    def blocks(self, problem: Depthwise) -> int:
        """Return the number of blocks of a grid."""
        return ceil_div(self.count(problem), self.runs)

    def loaded(self, problem: Depthwise) -> int:
        """Return how many pixels of a row are under the windows of a run."""
        reach = (problem.kernel[1] - 1) * problem.dilation[1]
        return (self.pixels - 1) * problem.stride[1] + reach + 1

    def own(self, *extents: int) -> TaskMap:
        """Return the map of the tasks that each thread has for itself."""
        return repeat(*extents) * replicate(self.threads)


RUNS = (32, 64, 128)
"""The numbers of runs of a block: whole warps, as adjacent runs have adjacent channels."""

MAX_PIXELS = 14
"""The most pixels of a run."""

MAX_TILE = 28
"""The most pixels times channels of a run, and, with those of its window, `MAX_WINDOW`: more take
so many registers that too few threads are resident."""

MAX_WINDOW = 104

MAX_THREADS = 512

MAX_SHARED = 48 << 10
"""The bytes of static shared memory (CUDA C++ Programming Guide, compute capabilities)."""

SCHEDULERS = 4
"""The warps of which a multiprocessor issues an instruction in a cycle (same)."""

ROW_CYCLES, EXCHANGE_CYCLES, FIRST_CYCLES = 800, 600, 300
"""The latency of the loads of a row of a filter, of the sum over parts, and of the first loads.

Fitted to 744 kernels on an H100, with filters of 3 to 31 rows on images of 7 to 112: the first
choice has 0.89 of the speed of the best one of each problem (geometric mean; the worst has 0.64).
Loops over rows were all unrolled then; of 238 kernels as they are now it has 0.90."""


def candidates(problem: Depthwise, arch: Arch) -> list[DepthwiseConfig]:
    """Return the configs of an architecture, best estimate first."""
    if arch.is_cpu:
        return [DepthwiseConfig(128, 1, max(_divisors(problem.shape[2], 8)), problem.vector)]
    found = [
        DepthwiseConfig(runs * parts, parts, pixels, vector)
        for pixels in _divisors(problem.shape[2], MAX_PIXELS)
        for vector in _divisors(problem.vector, problem.vector)
        for parts in range(1, problem.kernel[0] + 1)
        for runs in RUNS
        if runs * parts <= MAX_THREADS
    ]
    legal = [each for each in found if _fits(each, problem)]
    return sorted(legal, key=lambda config: estimate(config, problem, arch))


def _divisors(number: int, limit: int) -> list[int]:
    return [each for each in range(1, limit + 1) if number % each == 0]


def _fits(config: DepthwiseConfig, problem: Depthwise) -> bool:
    """Return whether a config needs few registers and little shared memory."""
    tile = config.pixels * config.vector
    is_least = tile == 1 and config.parts == 1
    shared = tile * config.threads * problem.sum_bytes if config.parts > 1 else 0
    window = config.loaded(problem) * config.vector
    return is_least or (tile <= MAX_TILE and window <= MAX_WINDOW and shared <= MAX_SHARED)


def estimate(config: DepthwiseConfig, problem: Depthwise, arch: Arch) -> float:
    """Return the cycles of a kernel: the latency of its waves, and the issue of instructions."""
    blocks = ceil_div(config.blocks(problem), arch.processors)
    rows = ceil_div(problem.kernel[0], config.parts)
    tile, width = config.pixels * config.vector, problem.kernel[1]
    loads = (config.loaded(problem) + width) * (2 + config.vector)
    instructions = rows * (loads + width * tile) + 4 * tile
    latency = FIRST_CYCLES + rows * ROW_CYCLES + (config.parts > 1) * EXCHANGE_CYCLES
    waves = max(1, blocks * config.threads / arch.threads_per_processor)
    return latency * waves + blocks * config.threads / WARP * instructions / SCHEDULERS
