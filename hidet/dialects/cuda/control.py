"""Control flow exits, printing and assertions of a thread."""

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import AnyFloatConstr, IntegerType, StringAttr, i1
from xdsl.ir import SSAValue
from xdsl.irdl import (
    BaseAttr,
    irdl_op_definition,
    operand_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.cuda.attributes import LeaveKind, LeaveKindAttr
from hidet.dialects.effects import MachineEffect
from hidet.dialects.fields import Field, FieldsOp
from hidet.dialects.walking import parents_of
from hidet.escape import from_ascii, to_ascii


@irdl_op_definition
class LeaveOp(FieldsOp):
    """`cuda.leave break` exits the loop around it, `continue` its iteration, `return` the kernel.

    Ops after it are not executed, which analyses do not know: it is created by `restore-exits`,
    which only `form-expressions` follows.
    """

    name = "cuda.leave"

    kind = prop_def(LeaveKindAttr)

    assembly_format = "$kind attr-dict"
    traits = traits_def(MachineEffect())

    def verify_(self) -> None:
        """Check that there is a loop to exit."""
        if self.kind.data is LeaveKind.RETURN:
            return
        if not any(isinstance(parent, scf.ForOp | scf.WhileOp) for parent in parents_of(self)):
            raise VerifyException(f"no loop around that '{self.kind.data.value}' could leave")


@irdl_op_definition
class PrintfOp(FieldsOp):
    """`cuda.printf "i = %d" (%i : i32)`: prints to the standard output, as C's `printf`.

    The format must match the types: `%d` an i32, `%lld` an i64, `%f` a float (CUDA C++ Programming
    Guide, formatted output).
    """

    name = "cuda.printf"

    format = prop_def(StringAttr)
    values = var_operand_def(BaseAttr(IntegerType) | AnyFloatConstr)

    assembly_format = "$format (`(` $values^ `:` type($values) `)`)? attr-dict"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, format: str, values: Sequence[SSAValue]) -> None:
        super().__init__(to_ascii(format), values)

    @property
    def text(self) -> str:
        """The format, as the user wrote it."""
        return from_ascii(self.format.data)


@irdl_op_definition
class AssertOp(FieldsOp):
    """`cuda.assert %ok, "kernel.py:3: n > 0"`: aborts the kernel with a message unless `%ok`.

    On a GPU the thread prints the message and traps (PTX ISA, `trap`), so that the launch fails; on
    the CPU the launch returns an error.
    """

    name = "cuda.assert"

    condition = operand_def(i1)
    message = prop_def(StringAttr)

    assembly_format = "$condition `,` $message attr-dict"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, condition: Field, message: str) -> None:
        super().__init__(condition, to_ascii(message))

    @property
    def text(self) -> str:
        """The message, as the user wrote it."""
        return from_ascii(self.message.data)
