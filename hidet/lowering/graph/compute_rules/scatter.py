"""The rule of scatter: a kernel that updates x in place."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from hidet.dialects import graph
from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.graph.base import element_type, shape_of
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder
from hidet.lowering.graph.rules import Rule
from hidet.lowering.templates.scatter import scatter_kernel


def scatter(b: GridBuilder, op: graph.ScatterOp) -> SSAValue:
    """Call the kernel for such tensors, which is created once per module."""
    module = op.get_toplevel_object()
    assert isinstance(module, ModuleOp)
    operands = (op.ids, op.source, op.x)
    words = ["scatter_add" if op.accumulate else "scatter"]
    for each in operands:
        words += [str(element_type(each)), *map(str, shape_of(each))]
    name = "_".join(words)
    kernels = [each for each in module.ops if isinstance(each, KernelOp)]
    if name not in [each.sym_name.data for each in kernels]:
        module.body.block.add_op(scatter_kernel(op, name))
    return b.insert(graph.CallKernelOp(name, operands, [op.x.type], [0])).results_[0]


RULES: dict[type[Operation], Rule[GridBuilder]] = {graph.ScatterOp: scatter}
