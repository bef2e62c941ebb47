"""Rules of matmuls and convolutions.

A floating-point matmul stays, as an anchor with templates. A convolution becomes a matmul of an
im2col view, whose result is permuted.
"""

from math import prod

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from hidet.dialects import graph
from hidet.dialects.compute import ReduceKind
from hidet.dialects.graph.base import element_type, is_float, shape_of
from hidet.dialects.graph.contraction import sum_type
from hidet.lowering.graph.compute_rules.grid_builder import (
    GridBuilder,
    Indices,
    WindowAccess,
    is_empty,
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


# ----------------------------------------------------------------------------- convolution


class Convolution:
    """The sizes of a convolution of images [N, C, H, W] with filters [O, C / groups, KH, KW]."""

    def __init__(self, op: graph.Conv2dOp) -> None:
        self.op = op
        self.groups = op.groups.value.data
        filters, self.depth, *kernel = shape_of(op.weight)
        self.filters = filters // self.groups  # of a group, as the depth
        self.kernel = (*kernel, self.depth)  # the reduced extents [KH, KW, C / groups]
        images, _, *spatial = op.result_type.get_shape()
        self.positions = (images, *spatial)  # [N, OH, OW]
        self.access = WindowAccess(op.x, shape_of(op.x)[2:], op.window, tuple(spatial))
        # The batch dimensions of the matmul.
        self.batch = (self.groups,) if self.groups > 1 else ()


def conv2d(b: GridBuilder, op: graph.Conv2dOp) -> SSAValue:
    """The im2col view [g, N OH OW, K] times filters [g, K, O / g], permuted to [N, O, OH, OW].

    K = KH * KW * C / g, channels fastest, which are contiguous in channels-last images. The group
    dimension is absent for one group.
    """
    c = Convolution(op)
    if is_empty(op.x) or is_empty(op.weight):
        return b.fill(op, 0)
    if c.groups > 1 and c.depth == 1:
        return depthwise(b, c)
    product = b.insert(
        graph.MatmulOp(
            image_view(b, c),
            filter_view(b, c),
            precision=op.precision.data,
            result_element=sum_type(op.result_type.element_type, op.precision),
        )
    )
    product.location = op.location
    product.result.name_hint = op.result.name_hint or "conv"

    def scalar_at(indices: Indices) -> SSAValue:
        image, filter_, *position = indices
        row = b.join([image, *position], c.positions)
        *group, column = b.split(filter_, [*c.batch, c.filters])
        return b.read(product.result, [*group, row, column])

    return b.result_of(op, scalar_at)


def filter_view(b: GridBuilder, c: Convolution) -> SSAValue:
    """Return the view of filters as matrices [g, K, O / g]."""

    def scalar_at(indices: Indices) -> SSAValue:
        *group, k, column = indices
        filter_ = b.join([*group, column], [*c.batch, c.filters])
        *offset, channel = b.split(k, c.kernel)
        return b.element(c.op.weight, [filter_, channel, *offset])

    shape = [*c.batch, prod(c.kernel), c.filters]
    return b.grid(shape, element_type(c.op.weight), scalar_at)


def image_view(b: GridBuilder, c: Convolution) -> SSAValue:
    """Return the im2col view of images as matrices [g, N OH OW, K]."""
    element = element_type(c.op.x)

    def scalar_at(indices: Indices) -> SSAValue:
        *group, row, k = indices
        image, *position = b.split(row, c.positions)
        *offset, channel = b.split(k, c.kernel)
        channel = b.index(b.join([*group, channel], [*c.batch, c.depth]))
        channel.name_hint = "channel"
        return c.access.element(b, [image, channel], position, offset, lambda: b.exact(0, element))

    return b.grid([*c.batch, prod(c.positions), prod(c.kernel)], element, scalar_at)


def depthwise(b: GridBuilder, c: Convolution) -> SSAValue:
    """A depthwise convolution is a grid that reduces the window."""
    op, element = c.op, element_type(c.op.x)

    def scalar_at(indices: Indices) -> SSAValue:
        image, filter_, *position = indices
        channel = b.index(b.div(filter_, c.filters))

        def product(offset: Indices) -> SSAValue:
            pixel = c.access.element(
                b, [image, channel], position, offset, lambda: b.exact(0, element)
            )
            weight = b.read(op.weight, [filter_, b.index(0), *offset])
            return b.apply(arith.MulfOp, b.widen(pixel), weight)

        return b.reduce(ReduceKind.ADD, c.kernel[:-1], product)

    return b.result_of(op, scalar_at)


RULES: dict[type[Operation], Rule[GridBuilder]] = {
    graph.Conv2dOp: conv2d,
    graph.MatmulOp: matmul,
}
