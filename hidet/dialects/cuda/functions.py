"""`cuda.function`: a call of a function of the table of scalar functions."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AnyFloatConstr, IntegerType, StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import BaseAttr, irdl_op_definition, prop_def, result_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from hidet.arch.functions import FUNCTIONS, ScalarFunction
from hidet.dialects.cuda.arithmetic import ScalarOp

_NUMBER = BaseAttr(IntegerType) | AnyFloatConstr


@irdl_op_definition
class FunctionOp(ScalarOp):
    """`cuda.function "popc"(%x) : (i32) -> i32`: a function of `hidet.arch.functions`.

    Integers have no sign in the IR: a word is one of 32 or 64 bits.
    """

    name = "cuda.function"

    callee = prop_def(StringAttr)
    values = var_operand_def(_NUMBER)
    result = result_def(_NUMBER)

    assembly_format = "$callee `(` $values `)` attr-dict `:` functional-type(operands, results)"

    def __init__(self, callee: str, values: Sequence[SSAValue], result: Attribute) -> None:
        super().__init__(
            properties={"callee": StringAttr(callee)}, operands=[values], result_types=[result]
        )

    @property
    def instruction(self) -> ScalarFunction:
        """The entry of the table."""
        if self.callee.data not in FUNCTIONS:
            raise VerifyException(
                f"there is no function '{self.callee.data}', only {', '.join(FUNCTIONS)}"
            )
        return FUNCTIONS[self.callee.data]

    def verify_(self) -> None:
        """Check the types."""
        signatures = [self.instruction.signature(wide) for wide in (False, True)]
        found = tuple(str(value.type) for value in self.values), str(self.result.type)
        if found not in signatures:
            texts = (f"({', '.join(takes)}) -> {gives}" for takes, gives in signatures)
            raise VerifyException(
                f"'{self.callee.data}' is of type {' or '.join(dict.fromkeys(texts))}"
            )
