"""The template `filters`: the gradients of filters of few channels.

Its configs are chosen by a cost model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from hidet.arch.chips import Arch
from hidet.arch.limits import SCHEDULERS, STATIC_SHARED_BYTES, WARP
from hidet.dialects.compute import FusionOp
from hidet.dialects.graph import GroupedFilterGradientOp
from hidet.errors import ScheduleError
from hidet.frontends.script.mathematics import minimum
from hidet.frontends.script.tensors import Tensor
from hidet.lang import script
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.lowering.templates.base import KernelScope, Launch, Template, ceil_div
from hidet.lowering.templates.config import Config
from hidet.lowering.templates.epilogue import accepted, anchor_of, anchor_tensors
from hidet.lowering.templates.legality import Footprint
from hidet.lowering.templates.parts import fill, in_type_of, place, register_tile
from hidet.lowering.templates.runs import Sliding, divisors, store_sums, sum_type_of
from hidet.mapping import TaskMap, repeat, replicate


@dataclass(frozen=True)
class Filters(Sliding):
    """The gradient of the filters of a grouped convolution.

    Attributes:
        parts: the parts of the rows of the result's gradient.
    """

    parts: int = 1

    @property
    def sums(self) -> int:
        """The sums of a part for each element of a filter."""
        return self.shape[3] * self.depth

    @property
    def rows(self) -> int:
        """The rows of a part."""
        return ceil_div(self.shape[0] * self.shape[1], self.parts)


@dataclass(frozen=True)
class FiltersConfig(Config):
    """The distribution of the sums of a part over threads.

    Attributes:
        lanes: the adjacent tiles of channels of a block, with `inputs` of the images and `vector`
            of the result's gradient.
        slices: the threads that share a row of a filter, each with some rows of the part.
        pixels: the adjacent pixels that a thread has in registers.
        vector: the adjacent channels of a thread.
        inputs: the adjacent channels of the images, of one group. A depthwise convolution has
            those of the vector.
    """

    lanes: int
    slices: int
    pixels: int
    vector: int
    inputs: int = 1

    @property
    def tile(self) -> int:
        """The sums of a thread for each element of a filter."""
        return self.vector * self.inputs

    def check(self, problem: Filters) -> None:
        """Raise `ScheduleError` unless the blocks of a part have all channels."""
        fits = problem.vector % self.vector == 0 and problem.inputs % self.inputs == 0
        if problem.sums % (self.lanes * self.tile) or not fits:
            raise ScheduleError(
                f"{self} does not fit {problem.sums} channels and vectors of up to "
                f"{problem.vector} and {problem.inputs}",
                hint="lanes times vector times inputs divides them",
            )

    def threads(self, problem: Filters) -> int:
        """Return the number of threads of a block: each has one row of the filters."""
        return self.lanes * self.slices * problem.kernel[0]

    def chunks(self, problem: Filters) -> int:
        """Return the number of blocks of a part."""
        return problem.sums // (self.lanes * self.tile)

    def held(self, problem: Filters) -> int:
        """Return how many channels of a pixel of an image a thread has."""
        return self.vector if problem.is_depthwise else self.inputs

    def rows(self, problem: Filters) -> int:
        """Return the number of vectors of a thread's sums."""
        return problem.kernel[1] * self.inputs

    def own(self, problem: Filters, *extents: int) -> TaskMap:
        """Return the map of the tasks that each thread has for itself."""
        return repeat(*extents) * replicate(self.threads(problem))


MAX_PIXELS, MAX_LANES, MAX_THREADS = 8, 32, 256

MAX_REGISTERS = 112
"""The most elements of a thread in registers, of sums, images and gradients."""

SLICES = (1, 2, 4, 8)


def candidates(problem: Filters, arch: Arch) -> list[FiltersConfig]:
    """Return the configs of an architecture, best estimate first."""
    found = [
        FiltersConfig(lanes, slices, pixels, vector, channels)
        for vector in divisors(problem.vector, problem.vector)
        for channels in divisors(problem.inputs, problem.inputs)
        for lanes in range(1, MAX_LANES * problem.depth + 1)
        if problem.sums % (lanes * vector * channels) == 0
        for slices in (SLICES[:1] if arch.is_cpu else SLICES)
        for pixels in range(1, min(MAX_PIXELS, problem.shape[2]) + 1)
    ]
    legal = [each for each in found if _fits(each, problem)]
    return sorted(legal, key=lambda config: estimate(config, problem, arch))


def _fits(config: FiltersConfig, problem: Filters) -> bool:
    """Return whether a config needs few registers, little shared memory and few threads."""
    threads = config.threads(problem)
    sums = threads * problem.kernel[1] * config.tile * problem.sum_bytes
    is_least = config.tile == config.pixels == config.lanes == 1
    fits = _registers(config, problem) <= MAX_REGISTERS and threads <= MAX_THREADS
    return (is_least or fits) and (config.slices == 1 or sums <= STATIC_SHARED_BYTES)


ELEMENT_COST, LOAD_COST, PRODUCT_COST = 2.7, 0.7, 1.5
"""The instructions of an element that is loaded, for its conversion, padding and address, of the
load itself, and of a product.

Fitted, with all constants here, to 1474 kernels on an H200, with filters of 3, 5 and 7 rows, images
of 7 to 112 and groups of 1 to 8 channels: the first choice has 0.90 of the speed of the best one of
each problem (geometric mean; 0.92 if depthwise; the worst, of stride 2, has 0.57)."""

ADJACENT_CHANNELS = 32
"""The channels of a block with fewer of which loads cost more: they use sectors in part."""

RUN_CYCLES = 375
"""The latency of the loads of a run."""

OTHER_REGISTERS = 29
"""The registers of a thread for addresses and counters."""

UNEVEN = 0.15
"""The fraction of an incomplete wave of blocks that takes as long as a complete one."""


def estimate(config: FiltersConfig, problem: Filters, arch: Arch) -> float:
    """Return the cycles of a kernel: the latency of its waves, and the issue of instructions."""
    warps = ceil_div(config.threads(problem), WARP)
    blocks = ceil_div(problem.parts * config.chunks(problem), arch.processors)
    steps = ceil_div(problem.rows, config.slices) * ceil_div(problem.shape[2], config.pixels)
    narrow = max(1, ADJACENT_CHANNELS * problem.depth / (config.lanes * config.tile))
    products = problem.kernel[1] * config.pixels * config.tile
    of_image = LOAD_COST * narrow + ELEMENT_COST * config.held(problem)
    of_grad = LOAD_COST * narrow + ELEMENT_COST * config.vector
    instructions = problem.pixels_under(config.pixels) * of_image + config.pixels * of_grad
    instructions += PRODUCT_COST * products
    registers = OTHER_REGISTERS + _registers(config, problem)
    residents = Footprint(warps * WARP, 0, registers).residents(arch) or 1
    waves = UNEVEN * ceil_div(blocks, residents) + (1 - UNEVEN) * blocks / residents
    issue = blocks * warps * instructions / SCHEDULERS
    return steps * (RUN_CYCLES * max(1, waves) + issue)


def _registers(config: FiltersConfig, problem: Filters) -> int:
    """Return the elements of a thread in registers."""
    window = problem.pixels_under(config.pixels) * config.held(problem)
    return window + problem.kernel[1] * config.tile + config.pixels * config.vector


Place = tuple[Any, ...]
"""Indices, in the order of the result: the part, the row of the filters, its column, the channel of
the group, and the filter."""


class FiltersTemplate(Template[FiltersConfig]):
    """A thread sums a row of some filters over some rows of a part, for some channels of a group.

    Of depthwise filters each has its own channel.

    It loads a run of pixels of the result's gradient, and those of the images under them, into
    registers, as neighbours share most of them.
    """

    name = "filters"
    config = FiltersConfig

    def accepts(self, fusion: FusionOp) -> bool:
        """Accept fusions whose anchor is the gradient of grouped filters."""
        return isinstance(anchor_of(fusion), GroupedFilterGradientOp)

    def configs(self, fusion: FusionOp, arch: Arch) -> Sequence[FiltersConfig]:
        """Return the distributions over threads, best estimate first."""
        return candidates(_problem(fusion), arch)

    def launch(self, fusion: FusionOp, config: FiltersConfig) -> Launch:
        """Return the grid of all parts and channels."""
        problem = _problem(fusion)
        config.check(problem)
        return Launch((problem.parts * config.chunks(problem),), (config.threads(problem),))

    def build(self, scope: KernelScope, fusion: FusionOp, config: FiltersConfig) -> None:
        """Build the kernel body."""
        filters(*anchor_tensors(scope, fusion), _problem(fusion), config)


def _problem(fusion: FusionOp) -> Filters:
    op = accepted(fusion, GroupedFilterGradientOp)
    return replace(Filters.of(op), parts=op.parts.value.data)


@script
def filters(
    x: Tensor, grad: Tensor, result: Tensor, problem: Filters, choice: FiltersConfig
) -> None:
    """Sum the products of images and gradients over the rows of a part."""
    thread = threadIdx.x
    sums, first = place_of_thread(problem, choice)
    part, r, _, depth, channel = sums
    images, rows, width, _ = problem.shape
    source = problem.first_channel(channel) + depth
    acc, window, run, total = tiles(x, problem, choice)
    fill(acc, 0, thread)
    for step in range(first, problem.rows, choice.slices):
        row = part * problem.rows + step
        if row < images * rows:
            y = row % rows * problem.stride[0] + r * problem.dilation[0]
            for number in range(ceil_div(width, choice.pixels)):
                pixel = number * choice.pixels
                for j, v in window.on(thread):
                    at = pixel_of_image(pixel * problem.stride[1] + j, problem, choice)
                    window[j, v] = in_type_of(window, x[row // rows, y, at, source + v])
                for p, v in run.on(thread):
                    if is_in_row(pixel + p, problem, choice):
                        of_row = grad[row // rows, row % rows, pixel + p, channel + v]
                        run[p, v] = in_type_of(run, of_row)
                    else:
                        run[p, v] = 0
                for p, n in choice.own(problem, choice.pixels, choice.rows(problem)).on(thread):
                    s, u = place_in_row(n, choice)
                    for v in choice.own(problem, choice.vector).on(thread):
                        acc[n, v] += (
                            window[problem.pixel_under(p, s), problem.held(u, v)] * run[p, v]
                        )
    place = partial(place_of_sum, sums, choice)
    if choice.slices == 1:
        for n, v in acc.on(thread):
            result[place(n, v)] = in_type_of(result, acc[n, v])
    else:
        groups = choice.slices, choice.threads(problem) // choice.slices
        store_sums(acc, total, result, place, True, first, groups)


def place_in_row(n: Any, choice: FiltersConfig) -> tuple[Any, Any]:
    """Return the column of the filters and the channel of row n of a thread's sums."""
    return n // choice.inputs, n % choice.inputs


def place_of_sum(first: Place, choice: FiltersConfig, n: Any, v: Any) -> Place:
    """Return the place in the result of sum v in row n of a thread, whose first one is given."""
    part, r, column, depth, channel = first
    s, u = place_in_row(n, choice)
    return part, r, column + s, depth + u, channel + v


def is_in_row(pixel: Any, problem: Filters, choice: FiltersConfig) -> Any:
    """Return whether a pixel of a run is one of the row of gradients."""
    width = problem.shape[2]
    return width % choice.pixels == 0 or pixel < width


def pixel_of_image(at: Any, problem: Filters, choice: FiltersConfig) -> Any:
    """Return a pixel of an image, the last one for those of runs beyond a row's end."""
    width = problem.shape[2]
    if width % choice.pixels == 0:
        return at
    return minimum(at, problem.pixels_under(width) - 1)


def place_of_thread(problem: Filters, choice: FiltersConfig) -> tuple[Place, Any]:
    """Return the first of a thread's sums, and its first row of the part."""
    part, chunk = place(blockIdx.x, (problem.parts, choice.chunks(problem)))
    extents = choice.slices, problem.kernel[0], choice.lanes
    first, r, lane = place(threadIdx.x, extents)
    number: Any = chunk * choice.lanes + lane
    chunks = problem.depth // choice.inputs
    channel, depth = number // chunks * choice.vector, number % chunks * choice.inputs
    return (part, r, 0, depth, channel), first


def tiles(x: Tensor, problem: Filters, choice: FiltersConfig) -> tuple[Tensor, ...]:
    """Return the register tiles: sums, pixels of images, of gradients, and one vector of sums."""
    maps = (
        choice.own(problem, choice.rows(problem), choice.vector),
        choice.own(problem, problem.pixels_under(choice.pixels), choice.held(problem)),
        choice.own(problem, choice.pixels, choice.vector),
        choice.own(problem, choice.vector),
    )
    return tuple(register_tile(sum_type_of(x), each) for each in maps)
