"""The trait of operators that apply one operation on scalars to their elements."""

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import OpTrait

from hidet.dialects.cuda.arithmetic import FunctionOp
from hidet.dialects.graph.base import is_float

ScalarOp = Callable[..., Operation]
"""Makes an operation on scalars of its operands."""


@dataclass(frozen=True)
class Elementwise(OpTrait):
    """The operator applies one operation on scalars to its elements, chosen by their type.

    All lowerings and the translation from PyTorch go by this trait: an operator that has it, and
    the name of an ATen operator, needs nothing else.

    Attributes:
        floats: makes the operation on floating-point numbers, None where there is none.
        integers: that on integers.
        booleans: that on `i1`.
    """

    floats: ScalarOp | None = None
    integers: ScalarOp | None = None
    booleans: ScalarOp | None = None

    def scalar_op(self, element: Attribute) -> ScalarOp | None:
        """Return what makes the operation on scalars of a type, None where there is none."""
        if element == i1:
            return self.booleans
        return self.floats if is_float(element) else self.integers


def library(name: str) -> ScalarOp:
    """Return what makes a call of a function of `hidet.arch.functions`, on floats of one type."""

    def make(*values: SSAValue) -> Operation:
        return FunctionOp(name, values, values[0].type)

    return make


def comparison(floats: str, integers: str, booleans: str) -> Elementwise:
    """Return the trait of a comparison, by the predicates of `arith.cmpf` and `arith.cmpi`."""

    def compare_floats(lhs: SSAValue, rhs: SSAValue) -> Operation:
        return arith.CmpfOp(lhs, rhs, floats)

    def compare_integers(lhs: SSAValue, rhs: SSAValue) -> Operation:
        return arith.CmpiOp(lhs, rhs, integers)

    def compare_booleans(lhs: SSAValue, rhs: SSAValue) -> Operation:
        return arith.CmpiOp(lhs, rhs, booleans)

    return Elementwise(compare_floats, compare_integers, compare_booleans)
