"""The kernel of `graph.scatter`, which updates one of its arguments in place."""

from math import prod
from typing import Any

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Region

from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.graph import ScatterOp
from hidet.dialects.shaped import element_of, shape_of, size_of
from hidet.frontends.script.scalars import index_of
from hidet.frontends.script.tensors import Tensor
from hidet.frontends.script.tracing import tracing
from hidet.lang import repeat, script, spatial
from hidet.lang.cuda import atomic_add
from hidet.lowering.templates.base import Launch, TemplateEmitter, ceil_div
from hidet.lowering.templates.parts import place, tensor, worker_of_grid
from hidet.mapping import TaskMap

THREADS = 256

STEPS, MANY = 4, 1 << 20
"""The source elements of a thread if there are many: blocks of one each start too slowly."""

MAX_WORKERS = 16
MIN_WORK = 1 << 14
"""The most blocks of a sum on the CPU, and the fewest source elements of each."""


def scatter_kernel(op: ScatterOp, name: str, *, on_cpu: bool = False) -> KernelOp:
    """Build the kernel of positions, source and x, with a thread per source element or a few.

    On the CPU, sums have a thread per set of rows of x instead, which needs no atomics.
    """
    operands = {"positions": op.ids, "source": op.source, "out": op.x}
    count, width = shape_of(op.source.type)
    shapes = [(count,), (count, width), (size_of(op.x) // max(1, width), width)]
    types = [
        MemRefType(element_of(each), shape)
        for each, shape in zip(operands.values(), shapes, strict=True)
    ]
    body = Block(arg_types=types)
    for argument, hint in zip(body.args, operands, strict=True):
        argument.name_hint = hint
    adds = bool(op.accumulate)
    steps = STEPS if size_of(op.source) >= MANY else 1
    launch = Launch((ceil_div(size_of(op.source), THREADS * steps),), (THREADS,))
    if on_cpu and adds:
        workers = min(width, MAX_WORKERS, size_of(op.source) // MIN_WORK)
        launch = Launch((max(1, workers),), (1,))
    emitter = TemplateEmitter(body, launch)
    with tracing(emitter):
        positions, source, out = map(tensor, body.args)
        if on_cpu and adds:
            add_rows(positions, source, out, worker_of_grid(), launch.grid[0], (count, width))
        else:
            tasks = spatial(launch.grid[0]) * repeat(steps) * spatial(THREADS)
            write_rows(positions, source, out, worker_of_grid(), tasks, (count, width), adds)
    emitter.name_ids()
    kernel = KernelOp(name, launch.grid, launch.block, Region(body))
    kernel.location = op.location
    return kernel


@script
def write_rows(
    positions: Tensor,
    source: Tensor,
    out: Tensor,
    worker: Any,
    tasks: TaskMap,
    extents: tuple[int, int],
    adds: bool,
) -> None:
    """Write or add elements of the source [M, D] to the row at their position."""
    for element in tasks.on(worker, bound=[prod(extents)]):
        m, column = place(index_of(element), extents)
        row = positions[m]
        if adds:
            atomic_add(~out[row, column], source[m, column])
        else:
            out[row, column] = source[m, column]


@script
def add_rows(
    positions: Tensor,
    source: Tensor,
    out: Tensor,
    worker: Any,
    workers: int,
    extents: tuple[int, int],
) -> None:
    """Add rows of the source [M, D] to the rows at their positions that belong to a worker."""
    count, width = extents
    for m in range(count):
        row = positions[m]
        if row % workers == worker:
            for column in range(width):
                out[row, column] += source[m, column]
