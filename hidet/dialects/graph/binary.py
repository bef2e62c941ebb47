"""Operators on the elements of two tensors, which broadcast by numpy's rule, and selection.

Both operands have one element type; the frontend inserts the casts that torch's promotion rules
ask for. `NaN` propagates through maximum and minimum, as in torch.
"""

from abc import ABC

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import TensorType, i1
from xdsl.irdl import irdl_op_definition, operand_def, traits_def
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.graph.base import (
    TENSOR,
    GraphOp,
    Tensor,
    Value,
    broadcast_shapes,
    check_float,
    check_not_float,
    check_same_element,
    element_type,
    tensor_type,
)
from hidet.dialects.graph.elementwise_trait import Elementwise, comparison, library


def broadcast_type(name: str, *types: Tensor) -> Tensor:
    """Give the type that tensors of one element type broadcast to."""
    check_same_element(name, *types)
    shape = broadcast_shapes(name, *(t.get_shape() for t in types))
    return TensorType(types[0].element_type, shape)


class BinaryOp(GraphOp, ABC):
    """A function of two elements; operands broadcast and have one element type.

    On `i1`, add and maximum are "or", mul and minimum are "and", as in torch.
    """

    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)

    def __init__(self, lhs: Value, rhs: Value) -> None:
        inferred = broadcast_type(self.name, tensor_type(lhs), tensor_type(rhs))
        super().__init__(operands=[lhs, rhs], result_types=[inferred])

    def infer_type(self) -> Tensor:
        """Give the type that the operands broadcast to."""
        return broadcast_type(self.name, tensor_type(self.lhs), tensor_type(self.rhs))


class ArithmeticOp(BinaryOp, ABC):
    """A binary operator on numbers, not on `i1`."""

    def infer_type(self) -> Tensor:
        """Give the type that the operands broadcast to."""
        if element_type(self.lhs) == i1:
            raise VerifyException(
                f"{self.name}: needs elements that are numbers, got {tensor_type(self.lhs)}"
            )
        return super().infer_type()


class FloatBinaryOp(BinaryOp, ABC):
    """A binary operator on floating-point numbers."""

    def infer_type(self) -> Tensor:
        """Give the type that the operands broadcast to."""
        check_float(self.name, tensor_type(self.lhs), tensor_type(self.rhs))
        return super().infer_type()


class BitwiseOp(BinaryOp, ABC):
    """A binary operator on the bits of integers, or on `i1`."""

    def infer_type(self) -> Tensor:
        """Give the type that the operands broadcast to."""
        check_not_float(self.name, tensor_type(self.lhs), tensor_type(self.rhs))
        return super().infer_type()


class ComparisonOp(GraphOp, ABC):
    """A comparison of two elements, answered with `i1`; with NaN only `ne` is true."""

    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)

    def __init__(self, lhs: Value, rhs: Value) -> None:
        inferred = broadcast_type(self.name, tensor_type(lhs), tensor_type(rhs))
        super().__init__(operands=[lhs, rhs], result_types=[TensorType(i1, inferred.shape)])

    def infer_type(self) -> Tensor:
        """Give a tensor of `i1` in the shape that the operands broadcast to."""
        inferred = broadcast_type(self.name, tensor_type(self.lhs), tensor_type(self.rhs))
        return TensorType(i1, inferred.shape)


@irdl_op_definition
class AddOp(BinaryOp):
    """The sum."""

    name = "graph.add"
    traits = traits_def(Elementwise(arith.AddfOp, arith.AddiOp, arith.OrIOp))


@irdl_op_definition
class SubOp(ArithmeticOp):
    """The difference."""

    name = "graph.sub"
    traits = traits_def(Elementwise(arith.SubfOp, arith.SubiOp))


@irdl_op_definition
class MulOp(BinaryOp):
    """The product."""

    name = "graph.mul"
    traits = traits_def(Elementwise(arith.MulfOp, arith.MuliOp, arith.AndIOp))


@irdl_op_definition
class DivOp(FloatBinaryOp):
    """The quotient of floating-point numbers."""

    name = "graph.div"
    traits = traits_def(Elementwise(arith.DivfOp))


@irdl_op_definition
class FloorDivideOp(ArithmeticOp):
    """The quotient, rounded down. An integer divisor must not be 0."""

    name = "graph.floor_divide"


@irdl_op_definition
class RemainderOp(ArithmeticOp):
    """What `floor_divide` leaves, with the sign of the divisor."""

    name = "graph.remainder"


@irdl_op_definition
class FmodOp(ArithmeticOp):
    """What a division rounded towards 0 leaves, with the sign of the dividend."""

    name = "graph.fmod"
    traits = traits_def(Elementwise(library("fmod"), arith.RemSIOp))


@irdl_op_definition
class PowOp(ArithmeticOp):
    """The left to the power of the right."""

    name = "graph.pow"
    traits = traits_def(Elementwise(math.PowFOp, math.IPowIOp))


@irdl_op_definition
class MaximumOp(BinaryOp):
    """The larger; NaN if either is."""

    name = "graph.maximum"
    traits = traits_def(Elementwise(arith.MaximumfOp, arith.MaxSIOp, arith.OrIOp))


@irdl_op_definition
class MinimumOp(BinaryOp):
    """The smaller; NaN if either is."""

    name = "graph.minimum"
    traits = traits_def(Elementwise(arith.MinimumfOp, arith.MinSIOp, arith.AndIOp))


@irdl_op_definition
class Atan2Op(FloatBinaryOp):
    """The angle of the point (right, left), in radians."""

    name = "graph.atan2"
    traits = traits_def(Elementwise(math.Atan2Op))


@irdl_op_definition
class BitwiseAndOp(BitwiseOp):
    """The bits set in both."""

    name = "graph.bitwise_and"
    traits = traits_def(Elementwise(None, arith.AndIOp, arith.AndIOp))


@irdl_op_definition
class BitwiseOrOp(BitwiseOp):
    """The bits set in either."""

    name = "graph.bitwise_or"
    traits = traits_def(Elementwise(None, arith.OrIOp, arith.OrIOp))


@irdl_op_definition
class BitwiseXorOp(BitwiseOp):
    """The bits set in one of the two."""

    name = "graph.bitwise_xor"
    traits = traits_def(Elementwise(None, arith.XOrIOp, arith.XOrIOp))


@irdl_op_definition
class EqOp(ComparisonOp):
    """Whether the two are equal."""

    name = "graph.eq"
    traits = traits_def(comparison("oeq", "eq", "eq"))


@irdl_op_definition
class NeOp(ComparisonOp):
    """Whether the two differ."""

    name = "graph.ne"
    traits = traits_def(comparison("une", "ne", "ne"))


@irdl_op_definition
class LtOp(ComparisonOp):
    """Whether the left is smaller."""

    name = "graph.lt"
    traits = traits_def(comparison("olt", "slt", "ult"))


@irdl_op_definition
class LeOp(ComparisonOp):
    """Whether the left is smaller or equal."""

    name = "graph.le"
    traits = traits_def(comparison("ole", "sle", "ule"))


@irdl_op_definition
class GtOp(ComparisonOp):
    """Whether the left is larger."""

    name = "graph.gt"
    traits = traits_def(comparison("ogt", "sgt", "ugt"))


@irdl_op_definition
class GeOp(ComparisonOp):
    """Whether the left is larger or equal."""

    name = "graph.ge"
    traits = traits_def(comparison("oge", "sge", "uge"))


def where_type(name: str, condition: Tensor, lhs: Tensor, rhs: Tensor) -> Tensor:
    """Give the type of a selection between two tensors by a third of `i1`."""
    if condition.element_type != i1:
        raise VerifyException(f"{name}: the condition must have i1 elements, got {condition}")
    check_same_element(name, lhs, rhs)
    shape = broadcast_shapes(name, *(t.get_shape() for t in (condition, lhs, rhs)))
    return TensorType(lhs.element_type, shape)


@irdl_op_definition
class WhereOp(GraphOp):
    """The left element where the condition holds, else the right; all three broadcast."""

    name = "graph.where"

    condition = operand_def(TENSOR)
    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)

    def __init__(self, condition: Value, lhs: Value, rhs: Value) -> None:
        inferred = where_type(self.name, tensor_type(condition), tensor_type(lhs), tensor_type(rhs))
        super().__init__(operands=[condition, lhs, rhs], result_types=[inferred])

    def infer_type(self) -> Tensor:
        """Give the type that the operands broadcast to."""
        return where_type(
            self.name, tensor_type(self.condition), tensor_type(self.lhs), tensor_type(self.rhs)
        )
