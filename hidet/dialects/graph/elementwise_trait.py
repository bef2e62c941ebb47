"""The trait of operators that apply one operation on scalars to their elements."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import OpTrait

from hidet.dialects.cuda.arithmetic import FunctionOp
from hidet.dialects.graph.base import GraphOp, is_float

ScalarOp = Callable[..., Operation]
"""Makes an operation on scalars of its operands."""
Family = TypeVar("Family", bound=GraphOp)


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


def define(
    family: type[Family], name: str, summary: str, *scalars: ScalarOp | None
) -> type[Family]:
    """Return an operator that differs from others of a family in what it computes alone.

    Args:
        family: what it is derived from, which says which elements it takes.
        name: its name, which is that of ATen's operator.
        summary: what it gives.
        scalars: what `Elementwise` takes; nothing where a rule of the lowering says it.
    """
    title = "".join(word.capitalize() for word in name.split("_"))
    fields = {
        "__doc__": summary,
        "__module__": family.__module__,
        "name": f"graph.{name}",
        **({"traits": traits_def(Elementwise(*scalars))} if scalars else {}),
    }
    return irdl_op_definition(cast("type[Family]", type(f"{title}Op", (family,), fields)))


def comparison(floats: str, integers: str, booleans: str) -> tuple[ScalarOp, ScalarOp, ScalarOp]:
    """Return the operations of a comparison, by the predicates of `arith.cmpf` and `arith.cmpi`."""

    def compare_floats(lhs: SSAValue, rhs: SSAValue) -> Operation:
        return arith.CmpfOp(lhs, rhs, floats)

    def compare_integers(lhs: SSAValue, rhs: SSAValue) -> Operation:
        return arith.CmpiOp(lhs, rhs, integers)

    def compare_booleans(lhs: SSAValue, rhs: SSAValue) -> Operation:
        return arith.CmpiOp(lhs, rhs, booleans)

    return compare_floats, compare_integers, compare_booleans
