"""The pass `lower-graph-to-compute`: operators become grids of the compute dialect."""

from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from hidet.dialects import graph
from hidet.errors import PassError
from hidet.lowering.graph.compute_rules import (
    contraction,
    creation,
    elementwise,
    normalization,
    pooling,
    reduction,
    shape,
)
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder
from hidet.lowering.graph.rules import Rule, apply_rules
from hidet.lowering.locations import source_line

RULES: dict[type[Operation], Rule[GridBuilder]] = {
    **elementwise.RULES,
    **creation.RULES,
    **shape.RULES,
    **reduction.RULES,
    **normalization.RULES,
    **pooling.RULES,
    **contraction.RULES,
}
"""How each operator becomes grids."""

STAY = (graph.ConstantOp, graph.MatmulOp)
"""What may be left of the graph dialect: weights, and the operators that templates are made for."""


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
    `graph.constant` and products of floating-point matrices stay. A convolution becomes a product
    between two views. f16 and bf16 are extended to f32 when they are loaded and cut when a tensor
    is complete; between the grids of one operator everything is f32. Operations of the graph
    dialect that nothing uses are dropped.
    """

    name = "lower-graph-to-compute"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Lower all functions of a module."""
        rules = {kind: partial(lower, rule) for kind, rule in RULES.items()}
        apply_rules(op, GridBuilder, rules)
        for left in op.walk():
            if isinstance(left, graph.GraphOp) and not isinstance(left, STAY):
                raise PassError(
                    f"there is no rule for {left.name}; run decompose-graph first",
                    pass_name=self.name,
                    where=source_line(left),
                )
