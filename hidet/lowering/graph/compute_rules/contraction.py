"""Products of matrices and convolutions.

A product of floating-point matrices stays what it is: an anchor, for which there are templates. A
convolution becomes one, between a view of its image and an arrangement of its result.
"""

from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from hidet.dialects import graph
from hidet.dialects.compute import ReduceKind
from hidet.dialects.graph.base import element_type, is_float, shape_of
from hidet.dialects.graph.contraction import sum_type
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder, Indices, is_empty
from hidet.lowering.graph.compute_rules.window_access import WindowAccess
from hidet.lowering.graph.rules import Rule


def matmul(b: GridBuilder, op: graph.MatmulOp) -> SSAValue | None:
    """Products of floating-point matrices stay; sums of nothing are 0; integers get a grid."""
    found = op.result_type
    if is_empty(op.lhs) or is_empty(op.rhs):
        return b.fill(found.get_shape(), found.element_type, 0)
    if is_float(found.element_type):
        return None

    def scalar_at(indices: Indices) -> SSAValue:
        *batch, row, column = indices

        def product(inner: Indices) -> SSAValue:
            left = b.read_broadcast(op.lhs, [*batch, row, inner[0]])
            right = b.read_broadcast(op.rhs, [*batch, inner[0], column])
            return b.apply(arith.MuliOp, left, right)

        return b.reduce(ReduceKind.ADD, [shape_of(op.lhs)[-1]], product)

    return b.grid(found.get_shape(), found.element_type, scalar_at)


# ----------------------------------------------------------------------------- convolution


@dataclass(frozen=True)
class Convolution:
    """The sizes of a convolution of images [N, C, H, W] with filters [O, C / groups, KH, KW].

    Args:
        op: the convolution, without bias.
    """

    op: graph.Conv2dOp

    @property
    def groups(self) -> int:
        """The number of groups that are convolved on their own."""
        return self.op.groups.value.data

    @property
    def filters(self) -> int:
        """The filters of a group."""
        return shape_of(self.op.weight)[0] // self.groups

    @property
    def depth(self) -> int:
        """The channels of a group."""
        return shape_of(self.op.weight)[1]

    @property
    def kernel(self) -> tuple[int, ...]:
        """[KH, KW, C / groups]: what one element of the result is summed over."""
        _, depth, *spatial = shape_of(self.op.weight)
        return (*spatial, depth)

    @property
    def positions(self) -> tuple[int, ...]:
        """[N, OH, OW]: the positions that each filter is applied at."""
        images, _, *spatial = self.op.result_type.get_shape()
        return (images, *spatial)

    @property
    def access(self) -> WindowAccess:
        """The access of the filters to the images."""
        sizes, positions = shape_of(self.op.x)[2:], self.positions[1:]
        return WindowAccess(self.op.x, sizes, self.op.window, positions)

    @property
    def batch(self) -> tuple[int, ...]:
        """The batch dimensions of the product: the groups, unless there is but one."""
        return (self.groups,) if self.groups > 1 else ()


def conv2d(b: GridBuilder, op: graph.Conv2dOp) -> SSAValue:
    """The im2col view [g, N OH OW, K] times filters [g, K, O / g], arranged as [N, O, OH, OW].

    K = KH * KW * C / g: neighbours along k are channels, which lie side by side in images whose
    channels come last. The dimension of the groups is missing where there is one group.
    """
    found, c = op.result_type, Convolution(op)
    if is_empty(op.x) or is_empty(op.weight):
        return b.fill(found.get_shape(), found.element_type, 0)
    if c.groups > 1 and c.depth == 1:
        return depthwise(b, c)
    product = b.insert(
        graph.MatmulOp(
            image_view(b, c),
            filter_view(b, c),
            precision=op.precision.data,
            result_element=sum_type(found.element_type, op.precision),
        )
    )
    product.location = op.location
    product.result.name_hint = op.result.name_hint or "conv"

    def scalar_at(indices: Indices) -> SSAValue:
        image, filter_, *position = indices
        row = b.join([image, *position], c.positions)
        *group, column = b.split(filter_, [*c.batch, c.filters])
        return b.read(product.result, [*group, row, column])

    return b.grid(found.get_shape(), found.element_type, scalar_at)


def filter_view(b: GridBuilder, c: Convolution) -> SSAValue:
    """View the filters as matrices [g, K, O / g]."""

    def scalar_at(indices: Indices) -> SSAValue:
        *group, k, column = indices
        filter_ = b.join([*group, column], [*c.batch, c.filters])
        *offset, channel = b.split(k, c.kernel)
        return b.element(c.op.weight, [filter_, channel, *offset])

    shape = [*c.batch, prod(c.kernel), c.filters]
    return b.grid(shape, element_type(c.op.weight), scalar_at)


def image_view(b: GridBuilder, c: Convolution) -> SSAValue:
    """View the images as matrices [g, N OH OW, K] whose rows are what a filter sees."""
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
    """Each filter sees one channel: a plain grid, summed over the window."""
    found, op = c.op.result_type, c.op
    element = element_type(op.x)

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

    return b.grid(found.get_shape(), found.element_type, scalar_at)


RULES: dict[type[Operation], Rule[GridBuilder]] = {
    graph.Conv2dOp: conv2d,
    graph.MatmulOp: matmul,
}
