"""The kernel of `graph.scatter`, which updates one of its arguments in place."""

from typing import Any

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Region

from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.graph import ScatterOp
from hidet.dialects.shaped import element_of, shape_of, size_of
from hidet.frontends.script.tensors import Tensor
from hidet.frontends.script.tracing import tracing
from hidet.lang import script
from hidet.lang.cuda import atomic_add
from hidet.lowering.templates.base import Launch, TemplateEmitter, ceil_div
from hidet.lowering.templates.parts import tensor, worker_of_grid

THREADS = 256


def scatter_kernel(op: ScatterOp, name: str) -> KernelOp:
    """Build the kernel of positions, source and x, with a thread per source element."""
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
    launch = Launch((ceil_div(size_of(op.source), THREADS),), (THREADS,))
    emitter = TemplateEmitter(body, launch)
    with tracing(emitter):
        positions, source, out = map(tensor, body.args)
        adds = bool(op.accumulate)
        write_rows(positions, source, out, worker_of_grid(), (count, width), adds)
    emitter.name_ids()
    kernel = KernelOp(name, launch.grid, launch.block, Region(body))
    kernel.location = op.location
    return kernel


@script
def write_rows(
    positions: Tensor,
    source: Tensor,
    out: Tensor,
    element: Any,
    extents: tuple[int, int],
    adds: bool,
) -> None:
    """Write or add an element of the source [M, D] to the row at its position."""
    count, width = extents
    if element < count * width:
        row, column = positions[element // width], element % width
        if adds:
            atomic_add(~out[row, column], source[element // width, column])
        else:
            out[row, column] = source[element // width, column]
