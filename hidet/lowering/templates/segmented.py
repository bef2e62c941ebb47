"""The template `segmented`: blocks compute the elements of one of several sets of results."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from hidet.arch.chips import Arch
from hidet.arch.limits import ACCESS_BYTES
from hidet.dialects.compute import FusionOp
from hidet.dialects.shaped import bytes_of, element_of, size_of
from hidet.lang import repeat, script, spatial
from hidet.lang.cuda import blockIdx
from hidet.lowering.templates.base import KernelScope, Launch, Results, Template, ceil_div
from hidet.lowering.templates.config import Config
from hidet.lowering.templates.elementwise import elementwise
from hidet.lowering.templates.epilogue import clone_views
from hidet.lowering.templates.parts import worker_of_grid


@dataclass(frozen=True)
class SegmentedConfig(Config):
    """The threads of a block, and the adjacent elements of each in segments that have so many."""

    threads: int
    vector: int


@dataclass(frozen=True)
class Segment:
    """Results of one size, and the blocks that compute them."""

    results: Results
    size: int
    vector: int
    blocks: range


class SegmentedTemplate(Template[SegmentedConfig]):
    """The blocks of a segment compute its results as `elementwise` does.

    A block finds its segment by bisection.
    """

    name = "segmented"
    config = SegmentedConfig
    updates_in_place = True

    def accepts(self, fusion: FusionOp) -> bool:
        """Accept fusions with segments, of results of the same size each."""
        segments = fusion.by_segment(fusion.results_)
        is_alike = (len(set(map(size_of, results))) == 1 for results in segments)
        return fusion.segments is not None and all(is_alike)

    def configs(self, fusion: FusionOp, arch: Arch) -> Sequence[SegmentedConfig]:
        """Return one config: vectors if there are many elements, else one element per thread."""
        widest = max(bytes_of(element_of(each)) for each in fusion.results_)
        vector, threads = ACCESS_BYTES // widest, 256
        size = sum(_sizes(fusion))
        return [SegmentedConfig(threads, vector if size >= 256 * arch.processors * vector else 1)]

    def launch(self, fusion: FusionOp, config: SegmentedConfig) -> Launch:
        """Return the blocks of all segments."""
        return Launch((_blocks(fusion, config)[-1],), (config.threads,))

    def build(self, scope: KernelScope, fusion: FusionOp, config: SegmentedConfig) -> None:
        """Build the kernel body."""
        clone_views(scope, fusion)
        results, blocks = fusion.by_segment(scope.results), pairwise(_blocks(fusion, config))
        segments = [
            Segment(each, size, _vector(size, config), range(*own))
            for each, size, own in zip(results, _sizes(fusion), blocks, strict=True)
        ]
        compute(segments, blockIdx.x, config.threads)


@script
def compute(segments: Sequence[Segment], block: Any, threads: int) -> None:
    """Compute the segment of a block."""
    half = len(segments) // 2
    if half == 0:
        segment = segments[0]
        tasks = spatial(len(segment.blocks) * threads) * repeat(segment.vector)
        worker = worker_of_grid() - segment.blocks.start * threads
        elementwise(segment.results, tasks, worker, (1, 1, segment.size))
    elif block < segments[half].blocks.start:
        compute(segments[:half], block, threads)
    else:
        compute(segments[half:], block, threads)


def _sizes(fusion: FusionOp) -> list[int]:
    """Return the size of the results of each segment."""
    return [size_of(results[0]) for results in fusion.by_segment(fusion.results_)]


def _vector(size: int, config: SegmentedConfig) -> int:
    """Return how many adjacent elements of a segment a thread computes."""
    return config.vector if size % config.vector == 0 else 1


def _blocks(fusion: FusionOp, config: SegmentedConfig) -> list[int]:
    """Return the first block of each segment, and the number of blocks."""
    sizes = _sizes(fusion)
    counts = [ceil_div(size, config.threads * _vector(size, config)) for size in sizes]
    return list(accumulate(counts, initial=0))
