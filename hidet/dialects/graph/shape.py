"""Operators that move elements: views, joins, padding, look-ups, and checks of positions.

Positions of look-ups must be in range and non-negative, which `graph.checked_positions` ensures at
run time, as `graph.checked_divisor` does for divisors.
"""

from abc import ABC
from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, StringAttr, TensorType, UnitAttr, f32, f64, i32, i64
from xdsl.ir import Block, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, var_operand_def
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.dialects.graph.base import (
    FALSE,
    INT,
    INTEGERS,
    INTS,
    NUMBER,
    TENSOR,
    GraphOp,
    Number,
    OneOperandOp,
    SameTypeOp,
    Tensor,
    Value,
    check_axes,
    element_type,
    integer,
    is_integer,
    normalized_axis,
    number,
    shape_of,
    tensor_type,
)
from hidet.dialects.graph.elementwise import CastOp

# ----------------------------------------------------------------------------- views


class ReshapedOp(OneOperandOp, ABC):
    """A tensor in a given shape."""

    def __init__(self, x: Value, shape: Sequence[int]) -> None:
        super().__init__(x, result=TensorType(element_type(x), shape))


@irdl_op_definition
class ReshapeOp(ReshapedOp):
    """The same elements in row-major order in another shape."""

    name = "graph.reshape"

    def _infer_type(self) -> Tensor:
        shape = shape_of(self.result)
        if prod(shape_of(self.x)) != prod(shape):
            raise self.invalid(f"{self.x_type} has no room in the shape {list(shape)}")
        return TensorType(self.x_type.element_type, shape)


def is_argument(x: SSAValue) -> bool:
    """Return whether a tensor is an argument of the program, reshaped or not."""
    while isinstance(x.owner, ReshapeOp):
        x = x.owner.x
    return isinstance(x.owner, Block)


class ReorderingOp(OneOperandOp, ABC):
    """The dimensions in another order: dimension i of the result is `dims[i]` of x."""

    dims = prop_def(INTS)

    def __init__(self, x: Value, dims: Sequence[int]) -> None:
        super().__init__(x, dims=[normalized_axis(dim, len(shape_of(x))) for dim in dims])

    def _infer_type(self) -> Tensor:
        dims, sizes = self.dims.get_values(), shape_of(self.x)
        if sorted(dims) != list(range(len(sizes))):
            raise self.invalid(f"{list(dims)} is no permutation of the dimensions of {self.x_type}")
        return TensorType(self.x_type.element_type, [sizes[dim] for dim in dims])


@irdl_op_definition
class PermuteOp(ReorderingOp):
    """The dimensions in another order, as a view: dimension i of the result is `dims[i]` of x."""

    name = "graph.permute"


@irdl_op_definition
class PackOp(ReorderingOp):
    """A materialized `graph.permute`, which makes accesses contiguous.

    `hoist-constants` packs weights once per weight set.
    """

    name = "graph.pack"


@irdl_op_definition
class ExpandOp(ReshapedOp):
    """Broadcasting: sizes of 1 are repeated, new dimensions are prepended."""

    name = "graph.expand"

    def _infer_type(self) -> Tensor:
        shape, sizes = shape_of(self.result), shape_of(self.x)
        tail = shape[len(shape) - len(sizes) :]
        if len(sizes) > len(shape) or any(
            a not in (1, b) for a, b in zip(sizes, tail, strict=True)
        ):
            raise self.invalid(f"{self.x_type} does not broadcast to the shape {list(shape)}")
        return TensorType(self.x_type.element_type, shape)


@irdl_op_definition
class SliceOp(OneOperandOp):
    """The elements at `range(start, stop, step)` of each dimension; steps may be negative."""

    name = "graph.slice"

    starts = prop_def(INTS)
    stops = prop_def(INTS)
    steps = prop_def(INTS)

    def _infer_type(self) -> Tensor:
        sizes = shape_of(self.x)
        bounds = [sizes, *(p.get_values() for p in (self.starts, self.stops, self.steps))]
        if len(set(map(len, bounds))) > 1:
            raise self.invalid(f"needs a start, a stop and a step a dimension of {self.x_type}")
        shape: list[int] = []
        for size, start, stop, step in zip(*bounds, strict=True):
            found = range(start, stop, step or 1)
            ends = (*found[:1], *found[-1:])
            if step == 0 or any(not 0 <= end < size for end in ends):
                raise self.invalid(
                    f"{start}:{stop}:{step} is outside a dimension of size {size} of {self.x_type}"
                )
            shape.append(len(found))
        return TensorType(self.x_type.element_type, shape)


@irdl_op_definition
class AsStridedOp(OneOperandOp):
    """A strided view of flat storage: (i, j) is `x[offset + i * strides[0] + j * strides[1]]`."""

    name = "graph.as_strided"

    strides = prop_def(INTS)
    offset = prop_def(INT, default_value=integer(0))

    def __init__(
        self, x: Value, shape: Sequence[int], strides: Sequence[int], offset: int = 0
    ) -> None:
        result = TensorType(element_type(x), shape)
        super().__init__(x, result=result, strides=strides, offset=offset)

    def _infer_type(self) -> Tensor:
        shape, strides = shape_of(self.result), self.strides.get_values()
        offset, sizes = self.offset.value.data, shape_of(self.x)
        if len(sizes) != 1 or len(shape) != len(strides):
            raise self.invalid(
                f"needs a storage of rank 1 and a stride a dimension, got "
                f"{self.x_type}, shape {list(shape)} and strides {list(strides)}"
            )
        last = offset + sum((size - 1) * s for size, s in zip(shape, strides, strict=True))
        inside = offset >= 0 and min(strides, default=0) >= 0 and last < sizes[0]
        if prod(shape) != 0 and not inside:
            raise self.invalid(
                f"shape {list(shape)} with strides {list(strides)} from {offset} on "
                f"leaves the storage {self.x_type}"
            )
        return TensorType(self.x_type.element_type, shape)


@irdl_op_definition
class ResampleOp(OneOperandOp):
    """The elements at `(i * step + offset) // repeat` along an axis, for i < size.

    Places below `low` are `low`, and those above `high` are `high`.
    """

    name = "graph.resample"

    axis = prop_def(INT)
    size = prop_def(INT)
    step = prop_def(INT)
    offset = prop_def(INT)
    repeat = prop_def(INT)
    low = prop_def(INT)
    high = prop_def(INT)

    def _infer_type(self) -> Tensor:
        shape, axis = list(shape_of(self.x)), self.axis.value.data
        check_axes([axis], len(shape))
        size, step, repeat = (each.value.data for each in (self.size, self.step, self.repeat))
        if min(size, step, repeat) < 1:
            raise self.invalid("size, step and repeat must be positive")
        if size * step + abs(self.offset.value.data) + repeat >= 1 << 62:
            raise self.invalid("its places do not fit 64 bits")
        if not 0 <= self.low.value.data <= self.high.value.data < shape[axis]:
            raise self.invalid(f"low and high must be places along axis {axis} of {self.x_type}")
        shape[axis] = size
        return TensorType(self.x_type.element_type, shape)


# ----------------------------------------------------------------------------- joins and padding


@irdl_op_definition
class ConcatOp(GraphOp):
    """The concatenation of the operands along an axis."""

    name = "graph.concat"

    parts = var_operand_def(TENSOR)
    axis = prop_def(INT)

    def __init__(self, parts: Sequence[Value], axis: int) -> None:
        axis = normalized_axis(axis, len(shape_of(parts[0]))) if parts else axis
        super().__init__(parts, axis=axis)

    def _infer_type(self) -> Tensor:
        axis = self.axis.value.data
        if not self.parts:
            raise self.invalid("needs at least one operand")
        self.check_same_element(*map(tensor_type, self.parts))
        shapes = [list(shape_of(part)) for part in self.parts]
        check_axes([axis], len(shapes[0]))
        others = {(len(shape), *shape[:axis], *shape[axis + 1 :]) for shape in shapes}
        if len(others) > 1:
            raise self.invalid(
                f"shapes {' and '.join(map(str, shapes))} differ outside axis {axis}"
            )
        total = sum(shape[axis] for shape in shapes)
        joined = [*shapes[0][:axis], total, *shapes[0][axis + 1 :]]
        return TensorType(element_type(self.parts[0]), joined)


@irdl_op_definition
class PadOp(OneOperandOp):
    """The tensor padded by `low` elements before and `high` after it in each dimension."""

    name = "graph.pad"

    low = prop_def(INTS)
    high = prop_def(INTS)
    value = prop_def(NUMBER)

    def __init__(
        self, x: Value, low: Sequence[int], high: Sequence[int], value: Number = 0
    ) -> None:
        super().__init__(x, low=low, high=high, value=number(value, element_type(x)))

    def _infer_type(self) -> Tensor:
        found, sizes = self.x_type, shape_of(self.x)
        if self.value.type != found.element_type:
            raise self.invalid(f"the value {self.value} does not fit {found}")
        low, high = self.low.get_values(), self.high.get_values()
        if not len(low) == len(high) == len(sizes) or min((*low, *high), default=0) < 0:
            raise self.invalid(
                f"low {list(low)} and high {list(high)} must have a number >= 0 a "
                f"dimension of {found}"
            )
        return TensorType(found.element_type, [sum(s) for s in zip(low, sizes, high, strict=True)])


# ----------------------------------------------------------------------------- look-ups


class LookupOp(GraphOp, ABC):
    """A lookup in a tensor at positions, the second operand."""

    @property
    def extent(self) -> int:
        """The number of valid positions."""
        return shape_of(self.operands[0])[0]

    def positions(self) -> Tensor:
        """Return the type of the positions; raise `VerifyException` unless they are integers."""
        found = tensor_type(self.operands[1])
        if not is_integer(found.element_type):
            raise self.invalid(f"positions must be integers, got {found}")
        return found


@irdl_op_definition
class GatherOp(LookupOp):
    """One element per position: (i, j, k) is `x[i, ids[i, j, k], k]` for axis 1."""

    name = "graph.gather"

    x = operand_def(TENSOR)
    ids = operand_def(TENSOR)
    axis = prop_def(INT)

    def __init__(self, x: Value, ids: Value, axis: int) -> None:
        super().__init__(x, ids, axis=normalized_axis(axis, len(shape_of(x))))

    @property
    def extent(self) -> int:
        """The number of valid positions along the axis."""
        return shape_of(self.x)[self.axis.value.data]

    def _infer_type(self) -> Tensor:
        ids, axis = self.positions(), self.axis.value.data
        sizes, wanted = shape_of(self.x), ids.get_shape()
        check_axes([axis], len(sizes))
        if len(sizes) != len(wanted) or any(
            wanted[i] > sizes[i] for i in range(len(sizes)) if i != axis
        ):
            raise self.invalid(
                f"positions {ids} must have the rank of {self.x.type} and fit in it "
                f"outside axis {axis}"
            )
        return TensorType(element_type(self.x), wanted)


ACCUMULATED = (f32, f64, i32, i64)
"""The element types with accumulation; others are cast before and after."""


@irdl_op_definition
class ScatterOp(LookupOp):
    """x after `x[positions[m]] = source[m]`, or `+=` to accumulate, for every m.

    x is viewed as rows [N, D], as wide as those of the source. Rows at duplicate positions are
    accumulated in any order; without `accumulate`, it is unspecified which one is kept.
    """

    name = "graph.scatter"

    x = operand_def(TENSOR)
    ids = operand_def(TENSOR)
    source = operand_def(TENSOR)
    accumulate = prop_def(BoolAttr, default_value=FALSE)

    def _infer_type(self) -> Tensor:
        x, ids, source = tensor_type(self.x), self.positions(), tensor_type(self.source)
        is_right = (
            [each.get_num_dims() for each in (ids, source)] == [1, 2]
            and source.get_shape()[:1] == ids.get_shape()
            and prod(x.get_shape()) % max(source.get_shape()[1], 1) == 0
        )
        if not is_right:
            raise self.invalid(f"needs [M], [M, D] and rows of D, got {ids}, {source} and {x}")
        self.check_same_element(x, source)
        if self.accumulate and x.element_type not in ACCUMULATED:
            raise self.invalid(f"elements of {x} are not added up, cast them first")
        return x


@irdl_op_definition
class CheckedPositionsOp(SameTypeOp):
    """The operand; it is an error if an element is not in [0, size).

    With `from_end`, elements in [-size, 0) are positions from the end, and are normalized. The size
    is at least 1.
    """

    name = "graph.checked_positions"
    ELEMENTS: ClassVar = INTEGERS

    size = prop_def(INT)
    from_end = opt_prop_def(UnitAttr)
    operator = prop_def(StringAttr)

    def _infer_type(self) -> Tensor:
        if self.size.value.data < 1:
            raise self.invalid(f"nothing has a position below {self.size.value.data}")
        return super()._infer_type()


@irdl_op_definition
class CheckedDivisorOp(SameTypeOp):
    """The operand; it is an error if an element is 0."""

    name = "graph.checked_divisor"
    ELEMENTS: ClassVar = INTEGERS

    operator = prop_def(StringAttr)


def check_positions(op: LookupOp) -> None:
    """Insert a check of the positions of a lookup, unless they are checked already."""

    def holds(kind: Tensor) -> bool:
        """Return whether elements of a type can be any position: casts to it change none."""
        found = kind.element_type
        return is_integer(found) and op.extent <= 1 << found.width.data - 1

    ids = op.operands[1]
    owner = ids.owner
    while isinstance(owner, CastOp | ReshapeOp | ExpandOp) and holds(owner.result_type):
        owner = owner.x.owner
    if not isinstance(owner, CheckedPositionsOp) or owner.size.value.data > op.extent:
        check = CheckedPositionsOp(ids, op.extent, operator=op.name)
        Rewriter.insert_op(check, InsertPoint.before(op))
        op.operands[1] = check.result
