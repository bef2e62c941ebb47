"""The template `elementwise`: every element by itself, neighbours by one thread."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from hidet.analysis.contiguity import contiguous_run
from hidet.arch.chips import Arch
from hidet.arch.limits import ACCESS_BYTES
from hidet.dialects.compute import FusionOp, GridOp, ReduceOp
from hidet.dialects.compute.ops import terminator_of
from hidet.dialects.graph import AnchorOp
from hidet.dialects.shaped import bytes_of, element_of, shape_of, size_of
from hidet.lang import repeat, script, spatial
from hidet.lowering.templates.base import KernelScope, Launch, Results, Template, ceil_div
from hidet.lowering.templates.config import Config
from hidet.lowering.templates.parts import Index, known, place, worker_of_grid
from hidet.mapping import TaskMap


@dataclass(frozen=True)
class ElementwiseConfig(Config):
    """How elements are shared.

    Attributes:
        threads: the threads of a block.
        vector: how many neighbouring elements a thread takes.
    """

    threads: int
    vector: int


class ElementwiseTemplate(Template[ElementwiseConfig]):
    """A thread takes `vector` elements that lie next to each other; blocks share the rest.

    The results are numbered row-major; all have the same number of elements. Reductions inside a
    body (windows of a pooling) are loops of the thread.
    """

    name = "elementwise"
    config = ElementwiseConfig

    def accepts(self, fusion: FusionOp) -> bool:
        """Accept fusions of grids alone whose results have the same number of elements."""
        sizes = {size_of(result) for result in fusion.results_}
        return len(sizes) == 1 and not any(isinstance(op, AnchorOp) for op in fusion.body.block.ops)

    def configs(self, fusion: FusionOp, arch: Arch) -> Sequence[ElementwiseConfig]:
        """Return one config: vectors where elements are plenty, one element a thread elsewhere.

        Reductions take vectors where they read them, shorter ones where elements are fewer. A
        vector is no longer than a short row.
        """
        size = size_of(fusion.results_[0])
        vector = ACCESS_BYTES // max(bytes_of(element_of(each)) for each in fusion.results_)
        rows = map(_row_of, fusion.results_)
        vector = min([vector, *(row for row in rows if vector % row == 0)])
        threads = 256 if size >= 256 * arch.processors else 128
        if any(isinstance(op, ReduceOp) for op in fusion.body.walk()):
            vector = min(vector, *map(_run_of, terminator_of(fusion.body).operands))
            # Many threads, and blocks of which all threads take the same steps.
            few = 128 * arch.processors
            while vector > 1 and (size < few * vector or size % (threads * vector)):
                vector //= 2
            if arch.is_cpu:
                vector = 1
        elif size % vector or size < 256 * arch.processors * vector:
            vector = 1
        return [ElementwiseConfig(threads, vector)]

    def launch(self, fusion: FusionOp, config: ElementwiseConfig) -> Launch:
        """Return as many blocks as it takes to cover the elements."""
        size = size_of(fusion.results_[0])
        blocks = ceil_div(size, config.threads * config.vector)
        return Launch((blocks,), (config.threads,))

    def build(self, scope: KernelScope, fusion: FusionOp, config: ElementwiseConfig) -> None:
        """Write the kernel's body."""
        for op in fusion.body.block.ops:
            if isinstance(op, GridOp):
                scope.clone(op)
        launch = self.launch(fusion, config)
        workers = launch.grid[0] * launch.block[0]
        tasks = spatial(workers) * repeat(config.vector)
        elementwise(scope.results, tasks, size_of(fusion.results_[0]))


@script
def elementwise(results: Results, tasks: TaskMap, size: int) -> None:
    """Compute and store the elements of all results that have the same number."""
    for element in tasks.on(worker_of_grid(), bound=[size]):
        store(results, element)


@script
def store(results: Results, element: Index) -> None:
    """Store the elements of some results that have the same number."""
    places = [place(element, known(view.shape)) for view, _ in results]
    values = [view[at] for (view, _), at in zip(results, places, strict=True)]
    for value, (_, buffer), at in zip(values, results, places, strict=True):
        buffer[at] = value


def _row_of(value: SSAValue) -> int:
    """Return the extent of the last dimension with several elements; the size of one element."""
    return next((extent for extent in reversed(shape_of(value)) if extent > 1), ACCESS_BYTES)


def _run_of(value: SSAValue) -> int:
    """Return how many neighbours of a result are computed of neighbours in memory."""
    dim = len(shape_of(value)) - 1
    return contiguous_run(value, [dim]).length if dim >= 0 else 1
