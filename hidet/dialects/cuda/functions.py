"""`cuda.function`: a call of a function of the table of scalar functions."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import AnyFloatConstr, IntegerType, StringAttr
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
    ENTRY: ClassVar = FUNCTIONS
    KEY: ClassVar = "callee"

    callee = prop_def(StringAttr)
    values = var_operand_def(_NUMBER)
    result = result_def(_NUMBER)

    assembly_format = "$callee `(` $values `)` attr-dict `:` functional-type(operands, results)"

    @property
    def instruction(self) -> ScalarFunction:
        """The entry of the table, which knows the types and what is computed."""
        entry = super().instruction
        assert isinstance(entry, ScalarFunction)
        return entry

    def verify_(self) -> None:
        """Check the types."""
        signatures = [self.instruction.signature(wide) for wide in (False, True)]
        found = tuple(str(value.type) for value in self.values), str(self.result.type)
        if found not in signatures:
            texts = (f"({', '.join(takes)}) -> {gives}" for takes, gives in signatures)
            raise VerifyException(
                f"'{self.callee.data}' is of type {' or '.join(dict.fromkeys(texts))}"
            )
