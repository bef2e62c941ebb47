"""Operators that move elements and compute nothing: views, joins and padding."""

from abc import ABC
from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.graph.base import (
    INT,
    INTS,
    NUMBER,
    TENSOR,
    GraphOp,
    Number,
    SameTypeOp,
    Tensor,
    Value,
    check_axes,
    check_same_element,
    integer,
    ints,
    normalized_axes,
    normalized_axis,
    number,
    shape_of,
    tensor_type,
)

# ----------------------------------------------------------------------------- views


def reshaped(x: Tensor, shape: Sequence[int]) -> Tensor:
    """Give the type of the same elements, in row-major order, in another shape."""
    if prod(x.get_shape()) != prod(shape):
        raise VerifyException(f"graph.reshape: {x} has no room in the shape {list(shape)}")
    return TensorType(x.element_type, shape)


@irdl_op_definition
class ReshapeOp(GraphOp):
    """The same elements in row-major order in another shape."""

    name = "graph.reshape"

    x = operand_def(TENSOR)

    def __init__(self, x: Value, shape: Sequence[int]) -> None:
        super().__init__(operands=[x], result_types=[reshaped(tensor_type(x), shape)])

    def infer_type(self) -> Tensor:
        """Check that the result holds as many elements."""
        return reshaped(tensor_type(self.x), shape_of(self.result))


def permuted(x: Tensor, dims: Sequence[int]) -> Tensor:
    """Give the type whose dimension i is dimension `dims[i]` of x."""
    if sorted(dims) != list(range(x.get_num_dims())):
        raise VerifyException(f"graph.permute: {list(dims)} is no order of the dimensions of {x}")
    return TensorType(x.element_type, [x.get_shape()[dim] for dim in dims])


class ReorderingOp(GraphOp, ABC):
    """The dimensions in another order: dimension i of the result is `dims[i]` of x."""

    x = operand_def(TENSOR)
    dims = prop_def(INTS)

    def __init__(self, x: Value, dims: Sequence[int]) -> None:
        found = tensor_type(x)
        dims = [normalized_axis(dim, found.get_num_dims()) for dim in dims]
        super().__init__(
            operands=[x], properties={"dims": ints(dims)}, result_types=[permuted(found, dims)]
        )

    def infer_type(self) -> Tensor:
        """Give the type in the new order."""
        return permuted(tensor_type(self.x), self.dims.get_values())


@irdl_op_definition
class PermuteOp(ReorderingOp):
    """The dimensions in another order, as a view: dimension i of the result is `dims[i]` of x."""

    name = "graph.permute"


@irdl_op_definition
class PackOp(ReorderingOp):
    """The same as `graph.permute`, of weights that are worth a copy in the new order.

    Kernels read runs of neighbours in it; `hoist-constants` makes the copy once a weight set.
    """

    name = "graph.pack"


def expanded(x: Tensor, shape: Sequence[int]) -> Tensor:
    """Give the type of x broadcast to a shape by numpy's rule."""
    sizes = x.get_shape()
    tail = shape[len(shape) - len(sizes) :]
    if len(sizes) > len(shape) or any(a not in (1, b) for a, b in zip(sizes, tail, strict=True)):
        raise VerifyException(f"graph.expand: {x} does not broadcast to the shape {list(shape)}")
    return TensorType(x.element_type, shape)


@irdl_op_definition
class ExpandOp(GraphOp):
    """Broadcasting: sizes of 1 are repeated, new dimensions come in front."""

    name = "graph.expand"

    x = operand_def(TENSOR)

    def __init__(self, x: Value, shape: Sequence[int]) -> None:
        super().__init__(operands=[x], result_types=[expanded(tensor_type(x), shape)])

    def infer_type(self) -> Tensor:
        """Check that the operand broadcasts to the shape of the result."""
        return expanded(tensor_type(self.x), shape_of(self.result))


def sliced(x: Tensor, starts: Sequence[int], stops: Sequence[int], steps: Sequence[int]) -> Tensor:
    """Give the type of `x[start:stop:step, ...]`, all dimensions given, no number negative."""
    sizes = x.get_shape()
    if not len(starts) == len(stops) == len(steps) == len(sizes):
        raise VerifyException(f"graph.slice: needs a start, a stop and a step a dimension of {x}")
    bounds = list(zip(sizes, starts, stops, steps, strict=True))
    for size, start, stop, step in bounds:
        if not 0 <= start <= stop <= size or step < 1:
            raise VerifyException(
                f"graph.slice: {start}:{stop}:{step} is outside a dimension of size {size} of {x}"
            )
    return TensorType(
        x.element_type, [-((start - stop) // step) for _, start, stop, step in bounds]
    )


@irdl_op_definition
class SliceOp(GraphOp):
    """A regular part: elements start, start + step, ... below stop in each dimension."""

    name = "graph.slice"

    x = operand_def(TENSOR)
    starts = prop_def(INTS)
    stops = prop_def(INTS)
    steps = prop_def(INTS)

    def __init__(
        self, x: Value, starts: Sequence[int], stops: Sequence[int], steps: Sequence[int]
    ) -> None:
        super().__init__(
            operands=[x],
            properties={"starts": ints(starts), "stops": ints(stops), "steps": ints(steps)},
            result_types=[sliced(tensor_type(x), starts, stops, steps)],
        )

    def infer_type(self) -> Tensor:
        """Give the type of the part."""
        starts, stops, steps = (p.get_values() for p in (self.starts, self.stops, self.steps))
        return sliced(tensor_type(self.x), starts, stops, steps)


@irdl_op_definition
class FlipOp(SameTypeOp):
    """The elements in reverse order along some dimensions."""

    name = "graph.flip"

    dims = prop_def(INTS)

    def __init__(self, x: Value, dims: Sequence[int]) -> None:
        found = tensor_type(x)
        dims = normalized_axes(dims, found.get_num_dims())
        super().__init__(operands=[x], properties={"dims": ints(dims)}, result_types=[found])

    def infer_type(self) -> Tensor:
        """Give the type of the operand."""
        found = tensor_type(self.x)
        check_axes(self.dims.get_values(), found.get_num_dims())
        return found


def strided(x: Tensor, shape: Sequence[int], strides: Sequence[int], offset: int) -> Tensor:
    """Give the type of a strided view of a flat storage; all its elements must lie inside."""
    if x.get_num_dims() != 1 or len(shape) != len(strides):
        raise VerifyException(
            f"graph.as_strided: needs a storage of rank 1 and a stride a dimension, got {x}, "
            f"shape {list(shape)} and strides {list(strides)}"
        )
    last = offset + sum((size - 1) * s for size, s in zip(shape, strides, strict=True))
    inside = offset >= 0 and min(strides, default=0) >= 0 and last < x.get_shape()[0]
    if prod(shape) != 0 and not inside:
        raise VerifyException(
            f"graph.as_strided: shape {list(shape)} with strides {list(strides)} from {offset} on "
            f"leaves the storage {x}"
        )
    return TensorType(x.element_type, shape)


@irdl_op_definition
class AsStridedOp(GraphOp):
    """A view of a flat storage: element (i, j) is `x[offset + i * strides[0] + j * strides[1]]`."""

    name = "graph.as_strided"

    x = operand_def(TENSOR)
    strides = prop_def(INTS)
    offset = prop_def(INT, default_value=integer(0))

    def __init__(
        self, x: Value, shape: Sequence[int], strides: Sequence[int], offset: int = 0
    ) -> None:
        super().__init__(
            operands=[x],
            properties={"strides": ints(strides), "offset": integer(offset)},
            result_types=[strided(tensor_type(x), shape, strides, offset)],
        )

    def infer_type(self) -> Tensor:
        """Check that the view stays inside the storage."""
        strides, offset = self.strides.get_values(), self.offset.value.data
        return strided(tensor_type(self.x), shape_of(self.result), strides, offset)


# ----------------------------------------------------------------------------- joins and padding


def concatenated(axis: int, *parts: Tensor) -> Tensor:
    """Give the type of the parts one after the other along an axis."""
    if not parts:
        raise VerifyException("graph.concat: needs at least one operand")
    check_same_element("graph.concat", *parts)
    shapes = [list(part.get_shape()) for part in parts]
    check_axes([axis], len(shapes[0]))
    others = {(len(shape), *shape[:axis], *shape[axis + 1 :]) for shape in shapes}
    if len(others) > 1:
        raise VerifyException(
            f"graph.concat: shapes {' and '.join(map(str, shapes))} differ outside axis {axis}"
        )
    total = sum(shape[axis] for shape in shapes)
    return TensorType(parts[0].element_type, [*shapes[0][:axis], total, *shapes[0][axis + 1 :]])


@irdl_op_definition
class ConcatOp(GraphOp):
    """The operands one after the other along an axis."""

    name = "graph.concat"

    parts = var_operand_def(TENSOR)
    axis = prop_def(INT)

    def __init__(self, parts: Sequence[Value], axis: int) -> None:
        types = [tensor_type(part) for part in parts]
        axis = normalized_axis(axis, types[0].get_num_dims()) if types else axis
        super().__init__(
            operands=[parts],
            properties={"axis": integer(axis)},
            result_types=[concatenated(axis, *types)],
        )

    def infer_type(self) -> Tensor:
        """Give the type of the parts joined."""
        return concatenated(self.axis.value.data, *(tensor_type(part) for part in self.parts))


def padded(x: Tensor, low: Sequence[int], high: Sequence[int]) -> Tensor:
    """Give the type of x with elements added before and after it in each dimension."""
    sizes = x.get_shape()
    if not len(low) == len(high) == len(sizes) or min((*low, *high), default=0) < 0:
        raise VerifyException(
            f"graph.pad: low {list(low)} and high {list(high)} must have a number >= 0 a dimension "
            f"of {x}"
        )
    return TensorType(x.element_type, [sum(s) for s in zip(low, sizes, high, strict=True)])


@irdl_op_definition
class PadOp(GraphOp):
    """The tensor with `low` elements before and `high` after it in each dimension, all `value`."""

    name = "graph.pad"

    x = operand_def(TENSOR)
    low = prop_def(INTS)
    high = prop_def(INTS)
    value = prop_def(NUMBER)

    def __init__(
        self, x: Value, low: Sequence[int], high: Sequence[int], value: Number = 0
    ) -> None:
        found = tensor_type(x)
        super().__init__(
            operands=[x],
            properties={
                "low": ints(low),
                "high": ints(high),
                "value": number(value, found.element_type),
            },
            result_types=[padded(found, low, high)],
        )

    def infer_type(self) -> Tensor:
        """Give the type of the padded tensor."""
        found = tensor_type(self.x)
        if self.value.type != found.element_type:
            raise VerifyException(f"{self.name}: the value {self.value} does not fit {found}")
        return padded(found, self.low.get_values(), self.high.get_values())
