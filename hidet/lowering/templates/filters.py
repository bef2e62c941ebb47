"""The template `filters`: the gradients of the filters of depthwise convolutions.

Its configs are chosen by a cost model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hidet.analysis.contiguity import contiguous_run
from hidet.arch.chips import Arch
from hidet.arch.limits import ACCESS_BYTES, STATIC_SHARED_BYTES, WARP
from hidet.dialects.compute import FusionOp
from hidet.dialects.graph import DepthwiseFilterGradientOp
from hidet.dialects.shaped import bytes_of, element_of, shape_of
from hidet.errors import ScheduleError
from hidet.frontends.script.mathematics import minimum
from hidet.frontends.script.tensors import Tensor
from hidet.lang import script
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.lowering.templates.base import KernelScope, Launch, Template, ceil_div
from hidet.lowering.templates.config import Config
from hidet.lowering.templates.epilogue import anchor_of, anchor_tensors
from hidet.lowering.templates.legality import Footprint
from hidet.lowering.templates.parts import fill, in_type_of, place, register_tile
from hidet.lowering.templates.runs import pixel_under, pixels_under, store_sums, sum_type_of
from hidet.mapping import TaskMap, repeat, replicate


@dataclass(frozen=True)
class Filters:
    """The gradient of depthwise filters.

    Attributes:
        parts: the parts of the rows of the result's gradient.
        grad: the images, rows, pixels and channels of the result's gradient.
        kernel: the rows and columns of a filter.
        stride: the distance of window positions.
        dilation: the distance of window elements.
        vector: the most channels of an access.
        sum_bytes: the size of a sum.
    """

    parts: int
    grad: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    vector: int
    sum_bytes: int = 4

    @classmethod
    def of(cls, op: DepthwiseFilterGradientOp) -> Filters:
        """Return the problem of an operator."""
        window, widest = op.window, ACCESS_BYTES // bytes_of(element_of(op.x))
        runs = [contiguous_run(each, [3]).length for each in (op.x, op.grad)]
        return cls(
            parts=op.parts.value.data,
            grad=shape_of(op.grad),
            kernel=window.kernel,
            stride=window.stride,
            dilation=window.dilation,
            vector=min(widest, *runs),
            sum_bytes=max(4, bytes_of(element_of(op.result))),
        )

    @property
    def rows(self) -> int:
        """The rows of a part."""
        return ceil_div(self.grad[0] * self.grad[1], self.parts)


@dataclass(frozen=True)
class FiltersConfig(Config):
    """The distribution of the sums of a part over threads.

    Attributes:
        lanes: the adjacent vectors of channels of a block.
        slices: the threads that share a row of a filter, each with some rows of the part.
        pixels: the adjacent pixels that a thread has in registers.
        vector: the adjacent channels of a thread.
    """

    lanes: int
    slices: int
    pixels: int
    vector: int

    def check(self, problem: Filters) -> None:
        """Raise `ScheduleError` unless the blocks of a part have all channels."""
        channels = problem.grad[3]
        if channels % (self.lanes * self.vector) or problem.vector % self.vector:
            raise ScheduleError(
                f"{self} does not fit {channels} channels and vectors of up to {problem.vector}",
                hint="lanes times vector divides them",
            )

    def threads(self, problem: Filters) -> int:
        """Return the number of threads of a block: each has one row of the filters."""
        return self.lanes * self.slices * problem.kernel[0]

    def chunks(self, problem: Filters) -> int:
        """Return the number of blocks of a part."""
        return problem.grad[3] // (self.lanes * self.vector)

    def loaded(self, problem: Filters) -> int:
        """Return how many pixels of an image are under the windows of a run."""
        return pixels_under(self.pixels, problem)

    def own(self, problem: Filters, *extents: int) -> TaskMap:
        """Return the map of the tasks that each thread has for itself."""
        return repeat(*extents) * replicate(self.threads(problem))


MAX_PIXELS, MAX_LANES, MAX_THREADS = 8, 32, 256

MAX_REGISTERS = 112
"""The most elements of a thread in registers, of sums, images and gradients."""

SLICES = (1, 2, 4, 8)


def candidates(problem: Filters, arch: Arch) -> list[FiltersConfig]:
    """Return the configs of an architecture, best estimate first."""
    vectors = [each for each in range(1, problem.vector + 1) if problem.vector % each == 0]
    found = [
        FiltersConfig(lanes, slices, pixels, vector)
        for vector in vectors
        for lanes in range(1, MAX_LANES + 1)
        if problem.grad[3] % (lanes * vector) == 0
        for slices in (SLICES[:1] if arch.is_cpu else SLICES)
        for pixels in range(1, min(MAX_PIXELS, problem.grad[2]) + 1)
    ]
    legal = [each for each in found if _fits(each, problem)]
    return sorted(legal, key=lambda config: estimate(config, problem, arch))


def _fits(config: FiltersConfig, problem: Filters) -> bool:
    """Return whether a config needs few registers, little shared memory and few threads."""
    threads = config.threads(problem)
    sums = threads * problem.kernel[1] * config.vector * problem.sum_bytes
    is_least = config.vector == config.pixels == config.lanes == 1
    fits = _registers(config, problem) <= MAX_REGISTERS and threads <= MAX_THREADS
    return (is_least or fits) and (config.slices == 1 or sums <= STATIC_SHARED_BYTES)


ELEMENT_COST, LOAD_COST = 4.2, 0.5
"""The instructions of an element that is loaded, for its conversion, padding and address, and of
the load itself.

Fitted, with all constants here, to 390 kernels on an H200, with filters of 3, 5 and 7 rows and
images of 7 to 112: the first choice has 0.92 of the speed of the best one of each problem
(geometric mean; the worst has 0.75)."""

ADJACENT_CHANNELS = 64
"""The channels of a block with fewer of which loads cost more: they use sectors in part."""

RUN_CYCLES = 170
"""The latency of the loads of a run."""

OTHER_REGISTERS = 35
"""The registers of a thread for addresses and counters."""

UNEVEN = 1 / 3
"""The fraction of an incomplete wave of blocks that takes as long as a complete one."""

SCHEDULERS = 4
"""The warps of which a multiprocessor issues an instruction in a cycle (CUDA C++ Programming Guide,
compute capabilities)."""


def estimate(config: FiltersConfig, problem: Filters, arch: Arch) -> float:
    """Return the cycles of a kernel: the latency of its waves, and the issue of instructions."""
    warps = ceil_div(config.threads(problem), WARP)
    blocks = ceil_div(problem.parts * config.chunks(problem), arch.processors)
    steps = ceil_div(problem.rows, config.slices) * ceil_div(problem.grad[2], config.pixels)
    narrow = max(1, ADJACENT_CHANNELS / (config.lanes * config.vector))
    loads = config.loaded(problem) + config.pixels
    products = problem.kernel[1] * config.pixels * config.vector
    instructions = loads * (LOAD_COST * narrow + ELEMENT_COST * config.vector) + products
    registers = OTHER_REGISTERS + _registers(config, problem)
    residents = Footprint(warps * WARP, 0, registers).residents(arch) or 1
    waves = UNEVEN * ceil_div(blocks, residents) + (1 - UNEVEN) * blocks / residents
    issue = blocks * warps * instructions / SCHEDULERS
    return steps * (RUN_CYCLES * max(1, waves) + issue)


def _registers(config: FiltersConfig, problem: Filters) -> int:
    """Return the elements of a thread in registers."""
    return (problem.kernel[1] + config.loaded(problem) + config.pixels) * config.vector


Place = tuple[Any, ...]
"""The part, the first channel, the row of the filters and the slice of a thread."""


class FiltersTemplate(Template[FiltersConfig]):
    """A thread sums one row of the filters for a vector of channels over some rows of a part.

    It loads a run of pixels of the result's gradient, and those of the images under them, into
    registers, as neighbours share most of them.
    """

    name = "filters"
    config = FiltersConfig

    def accepts(self, fusion: FusionOp) -> bool:
        """Accept fusions whose anchor is the gradient of depthwise filters."""
        return isinstance(anchor_of(fusion), DepthwiseFilterGradientOp)

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
    op = anchor_of(fusion)
    assert isinstance(op, DepthwiseFilterGradientOp), "a fusion that the template has accepted"
    return Filters.of(op)


@script
def filters(
    x: Tensor, grad: Tensor, result: Tensor, problem: Filters, choice: FiltersConfig
) -> None:
    """Sum the products of images and gradients over the rows of a part."""
    thread = threadIdx.x
    part, channel, r, first = place_of_thread(problem, choice)
    images, rows, width, _ = problem.grad
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
                    window[j, v] = in_type_of(window, x[row // rows, y, at, channel + v])
                for p, v in run.on(thread):
                    if is_in_row(pixel + p, problem, choice):
                        of_row = grad[row // rows, row % rows, pixel + p, channel + v]
                        run[p, v] = in_type_of(run, of_row)
                    else:
                        run[p, v] = 0
                for p in choice.own(problem, choice.pixels).on(thread):
                    for s, v in acc.on(thread):
                        acc[s, v] += window[pixel_under(p, s, problem), v] * run[p, v]
    if choice.slices == 1:
        for s, v in acc.on(thread):
            result[part, r, s, channel + v] = in_type_of(result, acc[s, v])
    else:
        groups = choice.slices, choice.threads(problem) // choice.slices
        store_sums(acc, total, result, (part, r, 0, channel), True, first, groups)


def is_in_row(pixel: Any, problem: Filters, choice: FiltersConfig) -> Any:
    """Return whether a pixel of a run is one of the row of gradients."""
    width = problem.grad[2]
    return width % choice.pixels == 0 or pixel < width


def pixel_of_image(at: Any, problem: Filters, choice: FiltersConfig) -> Any:
    """Return a pixel of an image, the last one for those of runs beyond a row's end."""
    width = problem.grad[2]
    if width % choice.pixels == 0:
        return at
    return minimum(at, pixels_under(width, problem) - 1)


def place_of_thread(problem: Filters, choice: FiltersConfig) -> Place:
    """Return which sums a thread has, and its first row of the part."""
    part, chunk = place(blockIdx.x, (problem.parts, choice.chunks(problem)))
    extents = choice.slices, problem.kernel[0], choice.lanes
    first, r, lane = place(threadIdx.x, extents)
    return part, (chunk * choice.lanes + lane) * choice.vector, r, first


def tiles(x: Tensor, problem: Filters, choice: FiltersConfig) -> tuple[Tensor, ...]:
    """Return the register tiles: sums, pixels of images, of gradients, and one vector of sums."""
    maps = (
        choice.own(problem, problem.kernel[1], choice.vector),
        choice.own(problem, choice.loaded(problem), choice.vector),
        choice.own(problem, choice.pixels, choice.vector),
        choice.own(problem, choice.vector),
    )
    return tuple(register_tile(sum_type_of(x), each) for each in maps)
