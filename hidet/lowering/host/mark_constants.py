"""The pass `mark-constants`: marks the arguments of kernels that no launch writes."""

from collections import defaultdict

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import SymbolTable

from hidet.analysis.kernels import kernels_of
from hidet.dialects.cuda.host import LaunchOp
from hidet.dialects.cuda.marks import CONSTANT, OVERLAPS
from hidet.dialects.graph.creation import ConstantOp
from hidet.dialects.host_functions import FORWARD, updates_of


class MarkConstantsPass(ModulePass):
    """Mark what kernels need to know of the program to overlap, for `insert-waits`.

    Expects launches on tensors, the output of `schedule`. Leaves

    - `cuda.constant` on the arguments of kernels that all launches of @forward pass a weight or an
      input for, which no launch writes; inputs that `updates` lists are written;
    - `cuda.overlaps` on the kernels that @forward launches, if it has several launches.

    After this pass, kernels can be lowered one by one.
    """

    name = "mark-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Mark all kernels of a module."""
        forward = SymbolTable.lookup_symbol(op, FORWARD)
        launches: defaultdict[str, list[LaunchOp]] = defaultdict(list)
        for each in forward.body.block.ops if isinstance(forward, FuncOp) else ():
            if isinstance(each, LaunchOp):
                launches[each.kernel.string_value()].append(each)
        overlaps = sum(map(len, launches.values())) > 1
        for kernel in kernels_of(op):
            own = launches[kernel.sym_name.data]
            values = [(*launch.passed, *launch.results_) for launch in own]
            constant = [
                bool(values) and all(_is_constant(each[number]) for each in values)
                for number in range(len(kernel.arguments))
            ]
            kernel.mark_arguments(CONSTANT, constant)
            if own and overlaps:
                kernel.attributes[OVERLAPS] = UnitAttr()


def _is_constant(value: SSAValue) -> bool:
    """Return whether no launch writes the memory of a tensor of @forward."""
    if not isinstance(value.owner, Block):
        return isinstance(value.owner, ConstantOp)
    function = value.owner.parent_op()
    updates = dict(updates_of(function)) if isinstance(function, FuncOp) else {}
    return isinstance(value.type, TensorType) and value not in updates
