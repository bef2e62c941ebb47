"""Rules of matmuls and depthwise convolutions.

A floating-point matmul stays, as an anchor with templates.
"""

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from hidet.dialects import graph
from hidet.dialects.compute import ReduceKind
from hidet.dialects.graph.base import element_type, is_float, shape_of
from hidet.lowering.graph.compute_rules.grid_builder import (
    GridBuilder,
    Indices,
    is_empty,
    window_element,
)
from hidet.lowering.single_walk import Rule


def matmul(b: GridBuilder, op: graph.MatmulOp) -> SSAValue | None:
    """Floating-point matmuls stay; empty sums are 0; integer matmuls become grids."""
    if is_empty(op.lhs) or is_empty(op.rhs):
        return b.fill(op, 0)
    if is_float(op.result_type.element_type):
        return None

    def scalar_at(indices: Indices) -> SSAValue:
        *batch, row, column = indices

        def product(inner: Indices) -> SSAValue:
            left = b.read_broadcast(op.lhs, [*batch, row, inner[0]])
            right = b.read_broadcast(op.rhs, [*batch, inner[0], column])
            return b.apply(arith.MuliOp, left, right)

        return b.reduce(ReduceKind.ADD, [shape_of(op.lhs)[-1]], product)

    return b.result_of(op, scalar_at)


def depthwise(b: GridBuilder, op: graph.Conv2dOp) -> SSAValue:
    """A depthwise convolution is a grid that reduces the window."""
    element, filters = element_type(op.x), shape_of(op.weight)[0] // op.groups.value.data

    def scalar_at(indices: Indices) -> SSAValue:
        image, filter_, *position = indices
        channel = b.index(b.div(filter_, filters))

        def product(offset: Indices) -> SSAValue:
            pixel = window_element(
                b, op.x, op.window, [image, channel], position, offset, lambda: b.exact(0, element)
            )
            weight = b.read(op.weight, [filter_, b.index(0), *offset])
            return b.apply(arith.MulfOp, b.widen(pixel), weight)

        return b.reduce(ReduceKind.ADD, op.window.kernel, product)

    return b.result_of(op, scalar_at)


RULES: dict[type[Operation], Rule[GridBuilder]] = {
    graph.Conv2dOp: depthwise,
    graph.MatmulOp: matmul,
}
