"""Functions of the C library that neither `arith` nor `math` has."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure


class LibraryOp(IRDLOperation):
    """A function of floats of one type; does nothing but to compute."""

    T: ClassVar = VarConstraint("T", BaseAttr(Float32Type) | BaseAttr(Float64Type))

    result = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class ErfcOp(LibraryOp):
    """`cuda.erfc %x : f32`: 1 - erf(x), precise also where that is close to 0."""

    name = "cuda.erfc"

    x = operand_def(LibraryOp.T)

    assembly_format = "$x attr-dict `:` type($result)"

    def __init__(self, x: SSAValue | Operation) -> None:
        super().__init__(operands=[x], result_types=[SSAValue.get(x).type])


@irdl_op_definition
class FmodOp(LibraryOp):
    """`cuda.fmod %x, %y : f32`: what x / y leaves when rounded towards 0, exact, with x's sign."""

    name = "cuda.fmod"

    x = operand_def(LibraryOp.T)
    y = operand_def(LibraryOp.T)

    assembly_format = "$x `,` $y attr-dict `:` type($result)"

    def __init__(self, x: SSAValue | Operation, y: SSAValue | Operation) -> None:
        super().__init__(operands=[x, y], result_types=[SSAValue.get(x).type])
