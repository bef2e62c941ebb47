"""The functions on scalars that an operator can apply, by the names that C and PyTorch share."""

from dataclasses import dataclass

from xdsl.dialects.math import Math
from xdsl.irdl import IRDLOperation

from hidet.arch.functions import FLOAT_FUNCTIONS, Operand
from hidet.backend.printer.math import EXPRESSIONS


@dataclass(frozen=True)
class ScalarFunction:
    """A function of floats that gives one.

    Attributes:
        source: what makes it, in Python: an operation of `math`, or a call of the library.
        text: how it begins in the IR.
        operands: how many numbers it takes.
        summary: what it gives, in words.
    """

    source: str
    text: str
    operands: int
    summary: str


def scalar_named(name: str) -> ScalarFunction | None:
    """Return the function of a name, None where there is none on floats alone."""
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
