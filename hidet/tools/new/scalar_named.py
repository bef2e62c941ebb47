"""The scalar functions of operators, by the names that C and PyTorch share."""

from dataclasses import dataclass

from xdsl.dialects.math import Math
from xdsl.irdl import IRDLOperation

from hidet.arch.functions import FLOAT_FUNCTIONS, Operand
from hidet.backend.printer.math import EXPRESSIONS


@dataclass(frozen=True)
class ScalarFunction:
    """A function of floats that returns a float.

    Attributes:
        source: the Python expression of its factory: an operation of `math`, or a library call.
        text: the beginning of its text in the IR.
        operands: the number of operands.
        summary: a description of its result.
    """

    source: str
    text: str
    operands: int
    summary: str


def scalar_named(name: str) -> ScalarFunction | None:
    """Return the function of a name, None if there is none on floats."""
    entry = FLOAT_FUNCTIONS.get(name)
    if entry is not None and {*entry.takes, entry.gives} == {Operand.FLOAT}:
        summary = entry.summary[0].upper() + entry.summary[1:]
        return ScalarFunction(
            f'library("{name}")', f'cuda.function "{name}"', len(entry.takes), summary
        )
    for op in Math.operations:
        if op.name == f"math.{name}" and op.name in EXPRESSIONS:
            assert issubclass(op, IRDLOperation)
            count = len(op.get_irdl_definition().operands)
            return ScalarFunction(f"math.{op.__name__}", op.name, count, f"The function {name}")
    return None
