"""Rules of pools: a grid over window positions, with a reduction over the window."""

from functools import partial
from math import inf, prod

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from hidet.dialects import graph
from hidet.dialects.compute import ReduceKind
from hidet.dialects.graph.base import shape_of
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder, Indices, WindowAccess
from hidet.lowering.single_walk import Rule

SPATIAL = 2
"""The number of spatial dimensions, the last ones."""


def pool2d(
    kind: ReduceKind, outside: float, b: GridBuilder, op: graph.MaxPool2dOp | graph.AvgPool2dOp
) -> SSAValue:
    """The reduction of the window, with a constant outside of the image; a mean is divided."""
    sizes, found = shape_of(op.x)[-SPATIAL:], op.result_type
    access = WindowAccess(op.x, sizes, op.window, found.get_shape()[-SPATIAL:])

    def scalar_at(indices: Indices) -> SSAValue:
        leading, position = indices[:-SPATIAL], indices[-SPATIAL:]

        def element_at(offset: Indices) -> SSAValue:
            return b.widen(
                access.element(
                    b, leading, position, offset, lambda: b.exact(outside, found.element_type)
                )
            )

        total = b.reduce(kind, op.window.kernel, element_at)
        if isinstance(op, graph.MaxPool2dOp):
            return total
        divisor = prod(op.window.kernel) if op.divisor is None else op.divisor.value.data
        return b.apply(arith.DivfOp, total, b.constant(divisor, total.type))

    return b.result_of(op, scalar_at)


RULES: dict[type[Operation], Rule[GridBuilder]] = {
    graph.AvgPool2dOp: partial(pool2d, ReduceKind.ADD, 0),
    graph.MaxPool2dOp: partial(pool2d, ReduceKind.MAX, -inf),
}
