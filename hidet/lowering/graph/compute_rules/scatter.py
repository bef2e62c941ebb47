"""A scatter: a kernel that writes over x, since no grid says what is at a place of the result."""

from typing import Any

from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from hidet.dialects import graph
from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.graph.base import element_type, shape_of
from hidet.dialects.shaped import size_of
from hidet.frontends.script.tracing import tracing
from hidet.frontends.script.values import Tensor
from hidet.lang import script
from hidet.lang.cuda import atomic_add
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder
from hidet.lowering.graph.rules import Rule
from hidet.lowering.templates.base import Launch, TemplateEmitter, ceil_div
from hidet.lowering.templates.parts import tensor, worker_of_grid

THREADS = 256


def scatter(b: GridBuilder, op: graph.ScatterOp) -> SSAValue:
    """Call the kernel for such tensors, which the module gets once."""
    module = op.get_toplevel_object()
    assert isinstance(module, ModuleOp)
    operands = (op.positions, op.source, op.x)
    words = ["scatter" if op.accumulate is None else "scatter_add"]
    for each in operands:
        words += [str(element_type(each)), *map(str, shape_of(each))]
    name = "_".join(words)
    kernels = [each for each in module.ops if isinstance(each, KernelOp)]
    if name not in [each.sym_name.data for each in kernels]:
        module.body.block.add_op(_kernel(op, name))
    return b.insert(graph.CallKernelOp(name, operands, [op.x.type], [0])).results_[0]


def _kernel(op: graph.ScatterOp, name: str) -> KernelOp:
    """Write the kernel, with a thread for each element of the source."""
    operands = (op.positions, op.source, op.x)
    body = Block(arg_types=[_buffer_type(each) for each in operands])
    for argument, hint in zip(body.args, ("positions", "source", "out"), strict=True):
        argument.name_hint = hint
    launch = Launch((ceil_div(size_of(op.source), THREADS),), (THREADS,))
    emitter = TemplateEmitter(body, launch)
    with tracing(emitter):
        positions, source, out = map(tensor, body.args)
        count, width = shape_of(op.source)
        adds = op.accumulate is not None
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
    """Write, or add, an element of the source [M, D] to the row of its position."""
    count, width = extents
    if element < count * width:
        row, column = positions[element // width], element % width
        if adds:
            atomic_add(~out[row, column], source[element // width, column])
        else:
            out[row, column] = source[element // width, column]


def _buffer_type(value: SSAValue) -> MemRefType[Attribute]:
    return MemRefType(element_type(value), shape_of(value))


RULES: dict[type[Operation], Rule[GridBuilder]] = {graph.ScatterOp: scatter}
