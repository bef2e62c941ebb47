"""The template `depthwise`: depthwise convolutions of images with their channels last."""

from collections.abc import Sequence
from typing import Any

from hidet.arch.chips import Arch
from hidet.dialects.compute import FusionOp
from hidet.dialects.graph import DepthwiseConv2dOp
from hidet.frontends.script.mathematics import minimum
from hidet.frontends.script.tensors import Tensor
from hidet.frontends.script.types import F32
from hidet.lang import script, shared_tensor
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.lowering.templates.base import KernelScope, Launch, Template, ceil_div
from hidet.lowering.templates.depthwise_config import Depthwise, DepthwiseConfig, candidates
from hidet.lowering.templates.epilogue import anchor_of, anchor_tensors
from hidet.lowering.templates.parts import fill, in_type_of, place, register_tile

MAX_UNROLLED = 64
"""The most elements of a filter in the unrolled code of a thread."""

Place = tuple[Any, ...]
"""The image, the row, the first pixel and the first channel of a run."""


class DepthwiseTemplate(Template[DepthwiseConfig]):
    """A thread computes a run of pixels of a row, and a vector of channels.

    For each row of a filter it loads the pixels under all positions of the run into registers, as
    neighbours share most of them. Several threads may share a run, each with some rows of the
    filter: an image of few pixels has too few runs to hide the latency of loads.
    """

    name = "depthwise"
    config = DepthwiseConfig

    def accepts(self, fusion: FusionOp) -> bool:
        """Accept fusions whose anchor is a depthwise convolution."""
        return isinstance(anchor_of(fusion), DepthwiseConv2dOp)

    def configs(self, fusion: FusionOp, arch: Arch) -> Sequence[DepthwiseConfig]:
        """Return the distributions over threads, best estimate first."""
        return candidates(_problem(fusion), arch)

    def launch(self, fusion: FusionOp, config: DepthwiseConfig) -> Launch:
        """Return the grid that covers the runs."""
        config.check(_problem(fusion))
        return Launch((config.blocks(_problem(fusion)),), (config.threads,))

    def build(self, scope: KernelScope, fusion: FusionOp, config: DepthwiseConfig) -> None:
        """Build the kernel body."""
        depthwise(*anchor_tensors(scope, fusion), _problem(fusion), config)


def _problem(fusion: FusionOp) -> Depthwise:
    op = anchor_of(fusion)
    assert isinstance(op, DepthwiseConv2dOp), "a fusion that the template has accepted"
    return Depthwise.of(op)


@script
def depthwise(
    x: Tensor, weight: Tensor, result: Tensor, problem: Depthwise, choice: DepthwiseConfig
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
    if steps * problem.kernel[1] <= MAX_UNROLLED:
        for step in choice.own(steps).on(thread):
            r = step * choice.parts + part
            if r < rows:
                add_row(x, weight, registers, first, r, problem, choice)
    else:
        for r in range(part, rows, choice.parts):
            add_row(x, weight, registers, first, r, problem, choice)
    is_there = run < choice.count(problem)
    if choice.parts > 1:
        sums = shared_tensor(acc.dtype, [choice.parts, choice.pixels, choice.vector, choice.runs])
        for p, v in acc.on(thread):
            sums[part, p, v, thread % choice.runs] = acc[p, v]
        store_sums(sums, total, result, first, is_there, choice)
    else:
        image, row, pixel, channel = first
        for p, v in acc.on(thread):
            if is_there:
                result[image, row, pixel + p, channel + v] = in_type_of(result, acc[p, v])


@script
def add_row(
    x: Tensor,
    weight: Tensor,
    registers: Sequence[Tensor],
    first: Place,
    r: Any,
    problem: Depthwise,
    choice: DepthwiseConfig,
) -> None:
    """Accumulate the products of row r of the filters, with the pixels under it in registers."""
    thread = threadIdx.x
    image, row, pixel, channel = first
    acc, window, filters, _ = registers
    y = row * problem.stride[0] + r * problem.dilation[0]
    for j, v in window.on(thread):
        at = pixel * problem.stride[1] + j
        window[j, v] = in_type_of(window, x[image, y, at, channel + v])
    for s in choice.own(problem.kernel[1]).on(thread):
        for v in filters.on(thread):
            filters[v] = in_type_of(filters, weight[r, s, channel + v])
        for p, v in acc.on(thread):
            acc[p, v] += window[pixel_of(p, s, problem), v] * filters[v]


@script
def store_sums(
    sums: Tensor,
    total: Tensor,
    result: Tensor,
    first: Place,
    is_there: Any,
    choice: DepthwiseConfig,
) -> None:
    """Store the sums over the threads that share a run, some pixels in each."""
    thread = threadIdx.x
    part, _ = place_of_thread(choice)
    image, row, pixel, channel = first
    for step in choice.own(ceil_div(choice.pixels, choice.parts)).on(thread):
        p = step * choice.parts + part
        fill(total, 0, thread)
        for other in choice.own(choice.parts).on(thread):
            for v in total.on(thread):
                own = minimum(p, choice.pixels - 1)
                total[v] += sums[other, own, v, thread % choice.runs]
        for v in total.on(thread):
            if is_there and p < choice.pixels:
                result[image, row, pixel + p, channel + v] = in_type_of(result, total[v])


def pixel_of(p: Any, s: Any, problem: Depthwise) -> Any:
    """Return which pixel of a window column s of the filters takes for pixel p of a run."""
    return p * problem.stride[1] + s * problem.dilation[1]


def place_of_thread(choice: DepthwiseConfig) -> tuple[Any, Any]:
    """Return the number of a thread among those that share its run, and the run."""
    run = blockIdx.x * choice.runs + threadIdx.x % choice.runs
    return threadIdx.x // choice.runs, run


def place_of_run(run: Any, problem: Depthwise, choice: DepthwiseConfig) -> Place:
    """Return where a run is; threads without one compute the last one again."""
    number: Any = minimum(run, choice.count(problem) - 1)
    image, row, pixels, channels = place(number, choice.runs_of(problem))
    return image, row, pixels * choice.pixels, channels * choice.vector


def tiles(x: Tensor, problem: Depthwise, choice: DepthwiseConfig) -> tuple[Tensor, ...]:
    """Return the register tiles: accumulators, pixels, a vector of a filter, and one of sums."""
    element = F32 if x.element.bits < F32.bits else x.element
    maps = (
        choice.own(choice.pixels, choice.vector),
        choice.own(choice.loaded(problem), choice.vector),
        choice.own(choice.vector),
        choice.own(choice.vector),
    )
    return tuple(register_tile(element, each) for each in maps)
