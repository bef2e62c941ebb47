"""The pass `lower-graph-to-compute`: operators become grids of the compute dialect."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from hidet.dialects import graph
from hidet.dialects.compute import GridOp
from hidet.dialects.graph.base import element_type, shape_of
from hidet.dialects.host_functions import updates_of
from hidet.dialects.locations import source_line
from hidet.errors import PassError
from hidet.lowering.graph.compute_rules import (
    checked_integers,
    contraction,
    creation,
    elementwise,
    normalization,
    pooling,
    random,
    reduction,
    scatter,
    shape,
)
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder
from hidet.lowering.graph.rules import Rule, apply_rules

RULES: dict[type[Operation], Rule[GridBuilder]] = {
    **elementwise.RULES,
    **checked_integers.RULES,
    **creation.RULES,
    **shape.RULES,
    **reduction.RULES,
    **normalization.RULES,
    **pooling.RULES,
    **random.RULES,
    **scatter.RULES,
    **contraction.RULES,
}
"""How each operator becomes grids."""

STAY = (graph.ConstantOp, graph.AnchorOp)
"""What may be left of the graph dialect: weights, and the operators that templates are made for."""


def written_arguments(module: ModuleOp) -> set[SSAValue]:
    """Find the arguments that a kernel may write over, whose new content that leads to.

    Nothing else reads the argument, nor what the kernels on the way give.
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
    """Have a kernel that writes over tensors write over copies, where others need the tensors.

    Args:
        op: the call of the kernel.
        writable: the arguments of the function that it may write over.
    """
    builder = GridBuilder.like(op, InsertPoint.before(op))
    first = len(op.arguments) - len(op.init_numbers)
    for number, value in enumerate(op.init_values, first):
        is_result = isinstance(value.owner, GridOp | graph.AnchorOp | graph.CallKernelOp)
        if value in writable or (is_result and value.has_one_use()):
            continue
        read = partial(builder.element, value)
        op.operands[number] = builder.grid(shape_of(value), element_type(value), read)


def lower(rule: Rule[GridBuilder], b: GridBuilder, op: graph.GraphOp) -> SSAValue | None:
    """Apply a rule; a tensor without elements depends on nothing, so rules need not think of it."""
    found = op.result_type
    if prod(found.get_shape()) == 0:
        return b.fill(found.get_shape(), found.element_type, 0)
    return rule(b, op)


@dataclass(frozen=True)
class LowerGraphToComputePass(ModulePass):
    """Define every tensor element by element.

    Expects what `decompose-graph` leaves. Every operator becomes one or several `compute.grid`s;
    `graph.constant`, products of floating-point matrices, attention and calls of kernels stay. A
    convolution becomes a product between two views. f16 and bf16 are extended to f32 when they are
    loaded and cut when a tensor is complete; between the grids of one operator everything is f32.
    Operations of the graph dialect that nothing uses are dropped. A kernel that writes over a
    tensor which is needed elsewhere gets a copy; one whose result is the new content of an argument
    may write over the argument.

    Args:
        checks: whether kernels check positions of look-ups and divisors.
    """

    name = "lower-graph-to-compute"

    checks: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Lower all functions of a module."""
        chosen = RULES if self.checks else {**RULES, **checked_integers.UNCHECKED_RULES}
        rules = {kind: partial(lower, rule) for kind, rule in chosen.items()}
        apply_rules(op, GridBuilder, rules)
        writable = written_arguments(op)
        for call in list(op.walk()):
            if isinstance(call, graph.CallKernelOp):
                copy_inits(call, writable)
        for left in op.walk():
            if isinstance(left, graph.GraphOp) and not isinstance(left, STAY):
                raise PassError(
                    f"there is no rule for {left.name}; run decompose-graph first",
                    pass_name=self.name,
                    where=source_line(left),
                )
