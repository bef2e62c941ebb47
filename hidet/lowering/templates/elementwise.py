"""The template `elementwise`: each thread computes a few adjacent elements."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.dialects import arith, scf
from xdsl.ir import SSAValue

from hidet.analysis.contiguity import adjacent_dim, contiguous_run
from hidet.arch.chips import Arch
from hidet.arch.limits import ACCESS_BYTES
from hidet.dialects.compute import FusionOp, GridOp, LoadOp, ReduceOp
from hidet.dialects.compute.ops import terminator_of
from hidet.dialects.constants import known_index
from hidet.dialects.shaped import bytes_of, element_of, shape_of, size_of
from hidet.dialects.walking import ops_of_class
from hidet.lang import repeat, script, spatial
from hidet.lowering.templates.base import KernelScope, Launch, Results, Template, ceil_div
from hidet.lowering.templates.config import Config
from hidet.lowering.templates.epilogue import anchor_of, clone_views
from hidet.lowering.templates.parts import Index, known, place, worker_of_grid
from hidet.mapping import TaskMap

WORD = 4
"""The bytes of each lane of a warp that accesses a cache line."""

MAX_BYTES = 32
"""The most adjacent bytes that a thread reads: a sector, so that a warp reads whole cache lines."""


@dataclass(frozen=True)
class ElementwiseConfig(Config):
    """The distribution of elements over threads."""

    threads: int
    vector: int
    parts: int = 1


class ElementwiseTemplate(Template[ElementwiseConfig]):
    """A thread computes `vector` adjacent elements, or as many of both halves of a row (`parts`).

    All results have the same number of elements, in row-major order. Reductions in a body (pooling
    windows) are sequential loops.
    """

    name = "elementwise"
    config = ElementwiseConfig
    updates_in_place = True

    def accepts(self, fusion: FusionOp) -> bool:
        """Accept fusions of grids whose results have the same number of elements."""
        sizes = {size_of(result) for result in fusion.results_}
        return len(sizes) == 1 and fusion.segments is None and anchor_of(fusion) is None

    def configs(self, fusion: FusionOp, arch: Arch) -> Sequence[ElementwiseConfig]:
        """Return one config: vectors if there are many elements, else one element per thread.

        Reductions use vectors if they can load them, shorter ones if there are few elements.
        Vectors do not exceed a short row.
        """
        size = size_of(fusion.results_[0])
        streamed = [each for each in fusion.body.block.args if size_of(each) >= size]
        widest = max(bytes_of(element_of(each)) for each in fusion.results_)
        read = [MAX_BYTES // bytes_of(element_of(each)) for each in streamed]
        rows = [[extent for extent in shape_of(each) if extent > 1] for each in fusion.results_]
        vector = min([ACCESS_BYTES // widest, *read])
        vector = min([vector, *(row[-1] for row in rows if row and vector % row[-1] == 0)])
        threads = 256 if size >= 256 * arch.processors else 128
        if bool(ops_of_class(fusion.body, ReduceOp)):
            vector = min(vector, *map(_run_of, terminator_of(fusion.body).operands))
            # Enough threads, in uniform blocks.
            few = 128 * arch.processors
            while vector > 1 and (size < few * vector or size % (threads * vector)):
                vector //= 2
            if arch.is_cpu:
                vector = 1
        elif size % vector or size < 256 * arch.processors * vector:
            vector = 1
        values = terminator_of(fusion.body).operands
        is_alike = len({shape_of(each)[-1:] for each in values}) == 1
        halves = is_alike and vector > 1 and any(_has_halves(each, vector) for each in values)
        parts = 2 if halves and size >= 256 * arch.processors * vector * 2 else 1
        return [ElementwiseConfig(threads, vector, parts)]

    def launch(self, fusion: FusionOp, config: ElementwiseConfig) -> Launch:
        """Return the grid that covers the elements."""
        size = size_of(fusion.results_[0])
        blocks = ceil_div(size, config.threads * config.vector * config.parts)
        return Launch((blocks,), (config.threads,))

    def build(self, scope: KernelScope, fusion: FusionOp, config: ElementwiseConfig) -> None:
        """Build the kernel body."""
        clone_views(scope, fusion)
        launch = self.launch(fusion, config)
        workers = launch.grid[0] * launch.block[0]
        tasks = spatial(workers) * repeat(config.vector)
        *rows, row = shape_of(fusion.results_[0]) or (1,)
        shape = prod(rows), config.parts, row // config.parts
        elementwise(scope.results, tasks, worker_of_grid(), shape)


@script
def elementwise(results: Results, tasks: TaskMap, worker: Index, shape: Sequence[int]) -> None:
    """Compute and store the elements of all results at the same linear indices."""
    rows, parts, length = shape
    for element in tasks.on(worker, bound=[rows * length]):
        for each in elements_of(element, parts, length):
            store(results, each)


def elements_of(element: Any, parts: int, length: int) -> list[Any]:
    """Return an element of each part of a row, given its number among those of one part."""
    if parts == 1:
        return [element]
    row, at = element // length, element % length
    return [(row * parts + part) * length + at for part in range(parts)]


@script
def store(results: Results, element: Index) -> None:
    """Store the elements of some results at the same linear index."""
    places = [place(element, known(view.shape)) for view, _ in results]
    values = [view[at] for (view, _), at in zip(results, places, strict=True)]
    for value, (_, buffer), at in zip(values, results, places, strict=True):
        buffer[at] = value


def _has_halves(value: SSAValue, vector: int) -> bool:
    """Return whether the halves of rows read each other, as those of rotary embeddings do.

    A branch tells them apart, and reads the same tensor in both arms.
    """
    grid = value.owner
    if not isinstance(grid, GridOp) or not grid.shape or grid.shape[-1] % (2 * vector):
        return False
    for branch in ops_of_class(grid, scf.IfOp):
        arms = [{load.source for load in ops_of_class(arm, LoadOp)} for arm in branch.regions]
        bound = branch.cond.owner
        if isinstance(bound, arith.CmpiOp) and set.intersection(*arms):
            half = known_index(bound.rhs) if bound.lhs is grid.indices[-1] else None
            if half == grid.shape[-1] // 2:
                return True
    return False


def _run_of(value: SSAValue) -> int:
    """Return how many adjacent elements of a result read contiguous memory.

    Where that is not aligned, as under windows of a row, it is as many as a warp needs to read a
    cache line.
    """
    dim = len(shape_of(value)) - 1
    run = contiguous_run(value, [dim]).length if dim >= 0 else 1
    word = WORD // bytes_of(element_of(value)) or 1
    if run == 1 and dim >= 0 and shape_of(value)[dim] % word == 0 and adjacent_dim(value) == dim:
        return word
    return run
