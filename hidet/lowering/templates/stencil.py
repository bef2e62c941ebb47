"""The template `stencil`: convolutions of few channels a group, with channels last.

Its configs are chosen by a cost model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

from hidet.arch.chips import Arch
from hidet.arch.limits import SCHEDULERS, STATIC_SHARED_BYTES, WARP
from hidet.dialects.compute import FusionOp
from hidet.dialects.graph import GroupedConv2dOp
from hidet.errors import ScheduleError
from hidet.frontends.script.mathematics import minimum
from hidet.frontends.script.tensors import Tensor
from hidet.lang import script
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.lowering.templates.base import KernelScope, Launch, Template, ceil_div
from hidet.lowering.templates.config import Config
from hidet.lowering.templates.epilogue import accepted, anchor_of, anchor_tensors
from hidet.lowering.templates.parts import fill, in_type_of, place, register_tile
from hidet.lowering.templates.runs import Sliding, divisors, store_sums, sum_type_of
from hidet.mapping import TaskMap, repeat, replicate


@dataclass(frozen=True)
class StencilConfig(Config):
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

    def check(self, problem: Sliding) -> None:
        """Raise `ScheduleError` unless runs of the same size cover a result."""
        pixels = problem.shape[2]
        if pixels % self.pixels or problem.vector % self.vector or self.threads % self.parts:
            raise ScheduleError(
                f"{self} does not fit rows of {pixels} pixels and vectors of up to "
                f"{problem.vector} channels",
                hint="pixels and vector divide them, and parts divides threads",
            )

    def runs_of(self, problem: Sliding) -> tuple[int, ...]:
        """Return the numbers of runs by image, row, pixels and channels."""
        images, rows, pixels, channels = problem.shape
        return images, rows, pixels // self.pixels, channels // self.vector

    def count(self, problem: Sliding) -> int:
        """Return the number of runs of a result."""
        return prod(self.runs_of(problem))

    def blocks(self, problem: Sliding) -> int:
        """Return the number of blocks of a grid."""
        return ceil_div(self.count(problem), self.runs)

    def held(self, problem: Sliding) -> int:
        """Return how many channels of a pixel a thread has at a time."""
        return self.vector if problem.is_depthwise else problem.inputs

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

ROW_CYCLES, EXCHANGE_CYCLES, FIRST_CYCLES = 800, 600, 300
"""The latency of the loads of a row of a filter, of the sum over parts, and of the first loads.

Fitted to 744 kernels on an H100, with filters of 3 to 31 rows on images of 7 to 112: the first
choice has 0.89 of the speed of the best one of each problem (geometric mean; the worst has 0.64).
Loops over rows were all unrolled then; of 238 kernels as they are now it has 0.90."""


def candidates(problem: Sliding, arch: Arch) -> list[StencilConfig]:
    """Return the configs of an architecture, best estimate first."""
    if arch.is_cpu:
        return [StencilConfig(128, 1, max(divisors(problem.shape[2], 8)), problem.vector)]
    found = [
        StencilConfig(runs * parts, parts, pixels, vector)
        for pixels in divisors(problem.shape[2], MAX_PIXELS)
        for vector in divisors(problem.vector, problem.vector)
        for parts in range(1, problem.kernel[0] + 1)
        for runs in RUNS
        if runs * parts <= MAX_THREADS
    ]
    legal = [each for each in found if _fits(each, problem)]
    return sorted(legal, key=lambda config: estimate(config, problem, arch))


def _fits(config: StencilConfig, problem: Sliding) -> bool:
    """Return whether a config needs few registers and little shared memory."""
    tile = config.pixels * config.vector
    is_least = tile == 1 and config.parts == 1
    shared = tile * config.threads * problem.sum_bytes if config.parts > 1 else 0
    window = problem.pixels_under(config.pixels) * config.held(problem)
    return is_least or (tile <= MAX_TILE and window <= MAX_WINDOW and shared <= STATIC_SHARED_BYTES)


def estimate(config: StencilConfig, problem: Sliding, arch: Arch) -> float:
    """Return the cycles of a kernel: the latency of its waves, and the issue of instructions."""
    blocks = ceil_div(config.blocks(problem), arch.processors)
    rows = ceil_div(problem.kernel[0], config.parts)
    tile, taps = config.pixels * config.vector, problem.kernel[1] * problem.depth
    loads = (
        problem.depth
        // problem.inputs
        * problem.pixels_under(config.pixels)
        * (2 + config.held(problem))
    )
    instructions = rows * (loads + taps * (2 + config.vector + tile)) + 4 * tile
    latency = (
        FIRST_CYCLES + rows * problem.chunks * ROW_CYCLES + (config.parts > 1) * EXCHANGE_CYCLES
    )
    waves = max(1, blocks * config.threads / arch.threads_per_processor)
    return latency * waves + blocks * config.threads / WARP * instructions / SCHEDULERS


MAX_UNROLLED = 64
"""The most elements of a filter in the unrolled code of a thread."""

Place = tuple[Any, ...]
"""The image, the row, the first pixel and the first channel of a run."""


class StencilTemplate(Template[StencilConfig]):
    """A thread computes a run of pixels of a row, and a vector of channels of one group.

    For each row of a filter it loads the pixels under all positions of the run into registers, as
    neighbours share most of them. Several threads may share a run, each with some rows of the
    filter: an image of few pixels has too few runs to hide the latency of loads.

    Groups are too small for tensor cores. Those of a depthwise convolution have one channel, so
    that a vector has the channels of several.
    """

    name = "stencil"
    config = StencilConfig

    def accepts(self, fusion: FusionOp) -> bool:
        """Accept fusions whose anchor is a grouped convolution."""
        return isinstance(anchor_of(fusion), GroupedConv2dOp)

    def configs(self, fusion: FusionOp, arch: Arch) -> Sequence[StencilConfig]:
        """Return the distributions over threads, best estimate first."""
        return candidates(_problem(fusion), arch)

    def launch(self, fusion: FusionOp, config: StencilConfig) -> Launch:
        """Return the grid that covers the runs."""
        config.check(_problem(fusion))
        return Launch((config.blocks(_problem(fusion)),), (config.threads,))

    def build(self, scope: KernelScope, fusion: FusionOp, config: StencilConfig) -> None:
        """Build the kernel body."""
        stencil(*anchor_tensors(scope, fusion), _problem(fusion), config)


def _problem(fusion: FusionOp) -> Sliding:
    return Sliding.of(accepted(fusion, GroupedConv2dOp))


@script
def stencil(
    x: Tensor, weight: Tensor, result: Tensor, problem: Sliding, choice: StencilConfig
) -> None:
    """Compute one run of pixels and channels in each thread."""
    thread = threadIdx.x
    part, run = place_of_thread(choice)
    first = place_of_run(run, problem, choice)
    registers = tiles(x, problem, choice)
    acc, _, _, total = registers
    fill(acc, 0, thread)
    rows = problem.kernel[0]
    steps = ceil_div(rows, choice.parts)
    if steps * problem.kernel[1] * problem.depth <= MAX_UNROLLED:
        for step in choice.own(steps).on(thread):
            r = step * choice.parts + part
            if r < rows:
                add_row(x, weight, registers, first, r, problem, choice)
    else:
        for r in range(part, rows, choice.parts):
            add_row(x, weight, registers, first, r, problem, choice)
    is_there = run < choice.count(problem)
    place = partial(place_of_sum, first)
    if choice.parts > 1:
        store_sums(acc, total, result, place, is_there, part, (choice.parts, choice.runs))
    else:
        for p, v in acc.on(thread):
            if is_there:
                result[place(p, v)] = in_type_of(result, acc[p, v])


def place_of_sum(first: Place, p: Any, v: Any) -> Place:
    """Return the place in the result of pixel p and channel v of a run."""
    image, row, pixel, channel = first
    return image, row, pixel + p, channel + v


@script
def add_row(
    x: Tensor,
    weight: Tensor,
    registers: Sequence[Tensor],
    first: Place,
    r: Any,
    problem: Sliding,
    choice: StencilConfig,
) -> None:
    """Accumulate the products of row r of the filters, with the pixels under it in registers."""
    thread = threadIdx.x
    image, row, pixel, channel = first
    acc, window, filters, _ = registers
    y = row * problem.stride[0] + r * problem.dilation[0]
    group = problem.first_channel(channel)
    for chunk in choice.own(problem.chunks).on(thread):
        depth = channel_of_chunk(chunk, problem)
        for j, v in window.on(thread):
            at = pixel * problem.stride[1] + j
            window[j, v] = in_type_of(window, x[image, y, at, group + depth + v])
        for s, u in choice.own(problem.kernel[1], problem.inputs).on(thread):
            for v in filters.on(thread):
                filters[v] = in_type_of(filters, weight[r, s, depth + u, channel + v])
            for p, v in acc.on(thread):
                pixel_of_window = window[problem.pixel_under(p, s), problem.held(u, v)]
                acc[p, v] += pixel_of_window * filters[v]


def channel_of_chunk(chunk: Any, problem: Sliding) -> Any:
    """Return the first of a group's channels that a thread has in a step."""
    return chunk * problem.inputs


def place_of_thread(choice: StencilConfig) -> tuple[Any, Any]:
    """Return the number of a thread among those that share its run, and the run."""
    run = blockIdx.x * choice.runs + threadIdx.x % choice.runs
    return threadIdx.x // choice.runs, run


def place_of_run(run: Any, problem: Sliding, choice: StencilConfig) -> Place:
    """Return where a run is; threads without one compute the last one again."""
    number: Any = minimum(run, choice.count(problem) - 1)
    image, row, pixels, channels = place(number, choice.runs_of(problem))
    return image, row, pixels * choice.pixels, channels * choice.vector


def tiles(x: Tensor, problem: Sliding, choice: StencilConfig) -> tuple[Tensor, ...]:
    """Return the register tiles: accumulators, pixels, a vector of a filter, and one of sums."""
    maps = (
        choice.own(choice.pixels, choice.vector),
        choice.own(problem.pixels_under(choice.pixels), choice.held(problem)),
        choice.own(choice.vector),
        choice.own(choice.vector),
    )
    return tuple(register_tile(sum_type_of(x), each) for each in maps)
