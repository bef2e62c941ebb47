"""Arithmetic of integers that `arith` lacks."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IndexType, SignlessIntegerConstraint
from xdsl.irdl import (
    BaseAttr,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from hidet.dialects.fields import FieldsOp


@irdl_op_definition
class FloorModOp(FieldsOp):
    """`cuda.floormodsi %a, %b : i32`: what `arith.floordivsi` leaves, Python's `a % b`.

    It has the sign of b. `arith.remsi` is what a division towards zero leaves, with the sign of a.
    """

    name = "cuda.floormodsi"

    T: ClassVar = VarConstraint("T", SignlessIntegerConstraint | BaseAttr(IndexType))

    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"
    traits = traits_def(Pure())
