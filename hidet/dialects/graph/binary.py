"""Elementwise operators on two tensors, which broadcast by the rules of numpy, and selection.

Both operands have the same element type; the frontend inserts the casts of torch's type promotion.
`NaN` propagates through maximum and minimum, as in torch.
"""

from abc import ABC
from typing import ClassVar

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import TensorType, i1
from xdsl.irdl import irdl_op_definition, operand_def

from hidet.dialects.graph.base import (
    BITS,
    FLOATS,
    INTEGERS,
    NUMBERS,
    TENSOR,
    GraphOp,
    Tensor,
    broadcast_shapes,
    element_type,
    shape_of,
    tensor_type,
)
from hidet.dialects.graph.elementwise_trait import comparison, define, library


class TwoOperandsOp(GraphOp, ABC):
    """A function of two elements of the same type; operands broadcast."""

    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)

    def _infer_type(self) -> Tensor:
        self.check_same_element(tensor_type(self.lhs), tensor_type(self.rhs))
        shape = broadcast_shapes(self.name, shape_of(self.lhs), shape_of(self.rhs))
        return TensorType(element_type(self.lhs), shape)


class BinaryOp(TwoOperandsOp, ABC):
    """A function of two elements whose result has their type.

    On `i1`, add and maximum are "or", mul and minimum are "and", as in torch.
    """


class ArithmeticOp(BinaryOp, ABC):
    """A binary operator on numbers, not on `i1`."""

    ELEMENTS: ClassVar = NUMBERS


class FloatBinaryOp(BinaryOp, ABC):
    """A binary operator on floating-point numbers."""

    ELEMENTS: ClassVar = FLOATS


class BitwiseOp(BinaryOp, ABC):
    """A binary operator on the bits of integers, or on `i1`."""

    ELEMENTS: ClassVar = BITS


class ShiftOp(BitwiseOp, ABC):
    """A shift of the bits of integers."""

    ELEMENTS: ClassVar = INTEGERS


class ComparisonOp(TwoOperandsOp, ABC):
    """A comparison of two elements with an `i1` result; with NaN only `ne` is true."""

    def _infer_type(self) -> Tensor:
        return TensorType(i1, super()._infer_type().shape)


@irdl_op_definition
class WhereOp(GraphOp):
    """A selection by a condition; all three operands broadcast."""

    name = "graph.where"

    condition = operand_def(TENSOR)
    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)

    def _infer_type(self) -> Tensor:
        condition, lhs, rhs = map(tensor_type, self.operands)
        if condition.element_type != i1:
            raise self.invalid(f"the condition must have i1 elements, got {condition}")
        self.check_same_element(lhs, rhs)
        shape = broadcast_shapes(self.name, *map(shape_of, self.operands))
        return TensorType(lhs.element_type, shape)


AddOp = define(BinaryOp, "add", "The sum.", arith.AddfOp, arith.AddiOp, arith.OrIOp)
SubOp = define(ArithmeticOp, "sub", "The difference.", arith.SubfOp, arith.SubiOp)
MulOp = define(BinaryOp, "mul", "The product.", arith.MulfOp, arith.MuliOp, arith.AndIOp)
DivOp = define(FloatBinaryOp, "div", "The quotient of floating-point numbers.", arith.DivfOp)
FloorDivideOp = define(
    ArithmeticOp, "floor_divide", "The quotient, rounded down. An integer divisor must not be 0."
)
RemainderOp = define(
    ArithmeticOp, "remainder", "The remainder of `floor_divide`, with the sign of the divisor."
)
FmodOp = define(
    ArithmeticOp,
    "fmod",
    "The remainder of truncating division, with the sign of the dividend.",
    library("fmod"),
    arith.RemSIOp,
)
PowOp = define(
    ArithmeticOp, "pow", "The left to the power of the right.", math.PowFOp, math.IPowIOp
)
MaximumOp = define(
    BinaryOp,
    "maximum",
    "The larger; NaN if either is.",
    arith.MaximumfOp,
    arith.MaxSIOp,
    arith.OrIOp,
)
MinimumOp = define(
    BinaryOp,
    "minimum",
    "The smaller; NaN if either is.",
    arith.MinimumfOp,
    arith.MinSIOp,
    arith.AndIOp,
)
Atan2Op = define(
    FloatBinaryOp, "atan2", "The angle of the point (right, left), in radians.", math.Atan2Op
)
HypotOp = define(
    FloatBinaryOp, "hypot", "The length of the vector (left, right).", library("hypot")
)
CopysignOp = define(
    FloatBinaryOp, "copysign", "The left with the sign of the right.", math.CopySignOp
)
NextafterOp = define(
    FloatBinaryOp,
    "nextafter",
    "The next representable number from the left operand towards the right.",
    library("nextafter"),
)
BitwiseAndOp = define(
    BitwiseOp, "bitwise_and", "The bits set in both.", None, arith.AndIOp, arith.AndIOp
)
BitwiseOrOp = define(
    BitwiseOp, "bitwise_or", "The bits set in either.", None, arith.OrIOp, arith.OrIOp
)
BitwiseXorOp = define(
    BitwiseOp, "bitwise_xor", "The bits set in one of the two.", None, arith.XOrIOp, arith.XOrIOp
)
BitwiseLeftShiftOp = define(
    ShiftOp,
    "bitwise_left_shift",
    "The left shift; 0 if the count exceeds the width.",
    None,
    arith.ShLIOp,
)
BitwiseRightShiftOp = define(
    ShiftOp,
    "bitwise_right_shift",
    "The arithmetic right shift; the sign if the count exceeds the width.",
    None,
    arith.ShRSIOp,
)
EqOp = define(ComparisonOp, "eq", "Whether the two are equal.", *comparison("oeq", "eq", "eq"))
NeOp = define(ComparisonOp, "ne", "Whether the two differ.", *comparison("une", "ne", "ne"))
LtOp = define(ComparisonOp, "lt", "Whether the left is smaller.", *comparison("olt", "slt", "ult"))
LeOp = define(
    ComparisonOp, "le", "Whether the left is smaller or equal.", *comparison("ole", "sle", "ule")
)
GtOp = define(ComparisonOp, "gt", "Whether the left is larger.", *comparison("ogt", "sgt", "ugt"))
GeOp = define(
    ComparisonOp, "ge", "Whether the left is larger or equal.", *comparison("oge", "sge", "uge")
)
