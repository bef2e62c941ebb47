"""The trait of elementwise operators with a single scalar op."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import OpTrait

from hidet.dialects.cuda.arithmetic import FunctionOp
from hidet.dialects.graph.base import GraphOp, is_float

ScalarOp = Callable[..., Operation]
"""Creates a scalar op from its operands."""
Family = TypeVar("Family", bound=GraphOp)


@dataclass(frozen=True)
class Elementwise(OpTrait):
    """The operator applies one scalar op per element, chosen by element type.

    All lowerings and the PyTorch importer use this trait: an operator with the trait and the name
    of an ATen operator needs nothing else. The fields create the op on floating-point numbers, on
    integers and on `i1`, and are None if there is none.
    """

    floats: ScalarOp | None = None
    integers: ScalarOp | None = None
    booleans: ScalarOp | None = None

    def scalar_op(self, element: Attribute) -> ScalarOp | None:
        """Return the scalar op for a type, None if there is none."""
        if element == i1:
            return self.booleans
        return self.floats if is_float(element) else self.integers


def library(name: str) -> ScalarOp:
    """Return the scalar op that calls a function of `hidet.arch.functions` on floats."""
    return lambda *values: FunctionOp(name, values, values[0].type)


def define(
    family: type[Family], name: str, summary: str, *scalars: ScalarOp | None
) -> type[Family]:
    """Return an elementwise operator.

    The base class `family` determines the element types. Without `scalars`, a lowering rule defines
    the operator.
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
    """Return the scalar ops of a comparison, by the predicates of `arith.cmpf` and `arith.cmpi`."""
    compare = partial(arith.CmpiOp, arg=integers), partial(arith.CmpiOp, arg=booleans)
    return partial(arith.CmpfOp, arg=floats), *compare
