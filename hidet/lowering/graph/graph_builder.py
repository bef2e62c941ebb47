"""The builder of ops of the graph dialect in decompositions."""

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute, SSAValue

from hidet.dialects import graph
from hidet.dialects.graph.base import Number, computation_type, element_type, shape_of
from hidet.dialects.graph.contraction import sum_type
from hidet.rewriting.locations import LocatedBuilder


class GraphBuilder(LocatedBuilder):
    """Builds ops of the graph dialect."""

    def emit(self, op: graph.GraphOp) -> SSAValue:
        """Insert an op; return its result."""
        return self.insert(op).result

    def scalar(self, value: Number, element: Attribute) -> SSAValue:
        """Return a rank-0 tensor."""
        return self.emit(graph.FillOp(value, TensorType(element, [])))

    def cast(self, x: SSAValue, element: Attribute) -> SSAValue:
        """Return a tensor cast to another element type."""
        return x if element_type(x) == element else self.emit(graph.CastOp(x, element))

    def widened(self, x: SSAValue) -> SSAValue:
        """Return a tensor cast to its computation type."""
        return self.cast(x, computation_type(element_type(x)))

    def reshape(self, x: SSAValue, shape: Sequence[int]) -> SSAValue:
        """Return a tensor in another shape."""
        return x if shape_of(x) == tuple(shape) else self.emit(graph.ReshapeOp(x, shape))

    def matmul(self, lhs: SSAValue, rhs: SSAValue, precision: StringAttr) -> SSAValue:
        """Return a matmul in the accumulator type."""
        element = sum_type(element_type(lhs), precision)
        return self.emit(graph.MatmulOp(lhs, rhs, precision=precision.data, result_element=element))

    def permute(self, x: SSAValue, dims: Sequence[int]) -> SSAValue:
        """Return a tensor with its dimensions in another order, itself if that is its own."""
        return x if list(dims) == [*range(len(dims))] else self.emit(graph.PermuteOp(x, dims))

    def packed(self, x: SSAValue, dims: Sequence[int]) -> SSAValue:
        """Return a tensor whose memory has another dimension order."""
        back = [dims.index(dim) for dim in range(len(dims))]
        return self.permute(self.emit(graph.PackOp(x, dims)), back)

    def padded_images(self, x: SSAValue, padding: Sequence[int]) -> SSAValue:
        """Return images with channels last, zero-padded on both sides."""
        images, pads = self.permute(x, [0, 2, 3, 1]), [0, *padding, 0]
        return self.emit(graph.PadOp(images, pads, pads)) if any(padding) else images

    def narrow(self, x: SSAValue, axis: int, start: int, stop: int) -> SSAValue:
        """Return a slice along one axis."""
        starts, stops = [0] * len(shape_of(x)), list(shape_of(x))
        starts[axis], stops[axis] = start, stop
        return self.emit(graph.SliceOp(x, starts=starts, stops=stops, steps=[1] * len(stops)))

    def transposed(self, x: SSAValue) -> SSAValue:
        """Return matrices transposed: those that they are a transposed view of, or a view."""
        view, rank = transposed_view(x), len(shape_of(x))
        return self.permute(x, [*range(rank - 2), rank - 1, rank - 2]) if view is None else view


def transposed_view(matrix: SSAValue) -> SSAValue | None:
    """Return the matrices that these are a transposed view of, if they are one."""
    *batch, rows, columns = range(len(shape_of(matrix)))
    op = matrix.owner
    if not isinstance(op, graph.PermuteOp):
        return None
    return op.x if list(op.dims.get_values()) == [*batch, columns, rows] else None


def largest_divisor(number: int, most: int) -> int:
    """Return the largest divisor of a number that is at most `most`."""
    return next(n for n in range(min(number, most), 0, -1) if number % n == 0)
