"""The rule of elementwise operators: a grid that applies a scalar rule."""

from functools import partial

from xdsl.ir import Operation, SSAValue

from hidet.dialects.graph.base import GraphOp
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder, Indices
from hidet.lowering.graph.compute_rules.scalars import SCALAR_RULES, ScalarRule
from hidet.lowering.graph.rules import Rule


def elementwise(rule: ScalarRule, b: GridBuilder, op: GraphOp) -> SSAValue:
    """A grid over the result; operands are broadcast, each is loaded once."""

    def scalar_at(indices: Indices) -> SSAValue:
        loaded = {x: b.read_broadcast(x, indices) for x in dict.fromkeys(op.operands)}
        return rule(b, op, *(loaded[x] for x in op.operands))

    return b.result_of(op, scalar_at)


RULES: dict[type[Operation], Rule[GridBuilder]] = {
    kind: partial(elementwise, rule) for kind, rule in SCALAR_RULES.items()
}
