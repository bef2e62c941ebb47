"""The pass `lower-graph-to-compute`: lowers operators to grids."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from hidet.arch.chips import Arch
from hidet.dialects import graph
from hidet.dialects.compute import GridOp
from hidet.dialects.graph.base import element_type, shape_of
from hidet.dialects.host_functions import updates_of
from hidet.dialects.locations import source_line
from hidet.dialects.walking import ops_of_class
from hidet.errors import PassError
from hidet.lowering.graph.compute_rules import creation, reduction, scalars, shape
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder
from hidet.lowering.single_walk import Rule, apply_rules

RULES: dict[type[Operation], Rule[GridBuilder]] = {
    **scalars.RULES,
    **creation.RULES,
    **shape.RULES,
    **reduction.RULES,
}
"""The lowering rules that depend on operators alone."""

STAY = (graph.ConstantOp, graph.AnchorOp)
"""The graph ops that stay: weights and anchors."""


def written_arguments(module: ModuleOp) -> set[SSAValue]:
    """Return the arguments that kernels may overwrite with their new contents.

    Nothing else reads the argument, nor intermediate results of those kernels.
    """
    found: set[SSAValue] = set()
    functions = [each for each in module.ops if isinstance(each, FuncOp)]
    for function in functions:
        for argument, number in updates_of(function):
            terminator = function.body.block.last_op
            assert terminator is not None
            value: SSAValue | None = terminator.operands[number]
            while value is not None and isinstance(call := value.owner, graph.CallKernelOp):
                inits = dict(zip(call.init_numbers, call.init_values, strict=True))
                before = inits.get(call.results_.index(value))
                value = before if before is not None and before.has_one_use() else None
            if value is argument:
                found.add(argument)
    return found


def copy_inits(op: graph.CallKernelOp, writable: Collection[SSAValue]) -> None:
    """Copy in-place operands of a kernel call that have other readers.

    The call may overwrite the `writable` arguments of the function.
    """
    builder = GridBuilder.like(op)
    first = len(op.arguments) - len(op.init_numbers)
    for number, value in enumerate(op.init_values, first):
        is_result = isinstance(value.owner, GridOp | graph.AnchorOp | graph.CallKernelOp)
        if value in writable or (is_result and value.has_one_use()):
            continue
        read = partial(builder.element, value)
        op.operands[number] = builder.grid(shape_of(value), element_type(value), read)


def lower(rule: Rule[GridBuilder], b: GridBuilder, op: graph.GraphOp) -> SSAValue | None:
    """Apply a rule, except to empty tensors, which depend on nothing."""
    return b.fill(op, 0) if prod(op.result_type.get_shape()) == 0 else rule(b, op)


@dataclass(frozen=True)
class LowerGraphToComputePass(ModulePass):
    """Lower every operator to grids, which define tensors element by element.

    Expects the output of `decompose-graph`. Every operator becomes one or several `compute.grid`s;
    `graph.constant`, floating-point matmuls, attention and kernel calls stay. f16 and bf16 are
    extended to f32 at loads and truncated when a tensor is complete; between the grids of one
    operator everything is f32. A view with one reader is read through; so is an elementwise
    operator whose only reader continues it (`continued`). Unused operators are dropped. A kernel
    works on a copy of an in-place operand that has other readers, unless the operand is an argument
    whose new content it computes.
    """

    name = "lower-graph-to-compute"

    checks: bool = True
    arch: str = "sm_90a"

    def rules(self) -> dict[type[Operation], Rule[GridBuilder]]:
        """Return the lowering rule of each operator."""
        on_cpu = Arch.parse(self.arch).is_cpu
        checked = scalars.checked_rules(checks=self.checks, on_cpu=on_cpu)
        return {**RULES, **checked, graph.ScatterOp: partial(shape.scatter, on_cpu)}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Lower all functions of a module."""
        rules = {kind: partial(lower, rule) for kind, rule in self.rules().items()}
        apply_rules(op.body, GridBuilder, rules)
        writable = written_arguments(op)
        for call in ops_of_class(op, graph.CallKernelOp):
            copy_inits(call, writable)
        for left in ops_of_class(op, graph.GraphOp):
            if not isinstance(left, STAY):
                raise PassError(
                    f"there is no rule for {left.name}; run decompose-graph first",
                    pass_name=self.name,
                    where=source_line(left),
                )
