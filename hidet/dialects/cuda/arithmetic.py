"""Arithmetic of one thread that the machine has an instruction for, and C++ has not."""

from __future__ import annotations

from enum import auto
from typing import ClassVar

from xdsl.dialects.builtin import I64, IntegerAttr, f32, i32
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from hidet.arch.arithmetic import FAST, LOP3, PRMT, ROUND_TF32
from hidet.dialects.cuda.table_ops import InstructionOp


class ScalarOp(InstructionOp):
    """An instruction that computes a scalar from scalars and does nothing else."""


@irdl_op_definition
class Lop3Op(ScalarOp):
    """`cuda.lop3 %a, %b, %c table 232`: a function of three bits, for each bit of three words.

    Bit 4 * a + 2 * b + c of the table is the value for the bits a, b and c: the table of a function
    f is f(0xF0, 0xCC, 0xAA).
    """

    name = "cuda.lop3"
    ENTRY: ClassVar = LOP3

    a = operand_def(i32)
    b = operand_def(i32)
    c = operand_def(i32)
    table = prop_def(IntegerAttr[I64])
    result = result_def(i32)

    assembly_format = "$a `,` $b `,` $c `table` $table attr-dict"

    @property
    def function(self) -> str:
        """The function, with the table of bits."""
        return f"{self.instruction.function}<{self.table.value.data:#04x}>"

    def verify_(self) -> None:
        """Check the table of bits."""
        if not 0 <= self.table.value.data < 256:
            raise VerifyException(f"the table of bits is 0 to 255, not {self.table.value.data}")


@irdl_op_definition
class PrmtOp(ScalarOp):
    """`cuda.prmt %a, %b, %selector`: four of the eight bytes of two words.

    Digit i of the selector, of 4 bits, says which byte becomes byte i: 0 to 3 are those of a, 4 to
    7 those of b; with 8 added, all bits of it become the sign of that byte.
    """

    name = "cuda.prmt"
    ENTRY: ClassVar = PRMT

    a = operand_def(i32)
    b = operand_def(i32)
    selector = operand_def(i32)
    result = result_def(i32)

    assembly_format = "$a `,` $b `,` $selector attr-dict"


@irdl_op_definition
class RoundTf32Op(ScalarOp):
    """`cuda.round_tf32 %x`: an f32 rounded to the nearest number of TF32, ties away from zero.

    Tensor cores ignore the lower 13 bits of a factor, which cuts it off; they are zero here.
    """

    name = "cuda.round_tf32"
    ENTRY: ClassVar = ROUND_TF32

    value = operand_def(f32)
    result = result_def(f32)

    assembly_format = "$value attr-dict"


class FastFunction(StrEnum):
    """A function that the machine computes in one step, with an error."""

    EXP2 = auto()
    LOG2 = auto()
    SIN = auto()
    COS = auto()
    TANH = auto()
    RCP = auto()
    RSQRT = auto()
    SQRT = auto()


@irdl_attr_definition
class FastFunctionAttr(EnumAttribute[FastFunction], SpacedOpaqueSyntaxAttribute):
    """`exp2`, `log2`, `sin`, `cos`, `tanh`, `rcp`, `rsqrt` or `sqrt`."""

    name = "cuda.fast_function"


@irdl_op_definition
class FastOp(ScalarOp):
    """`cuda.fast exp2 %x`: a function of an f32, with the error that the instruction table states.

    Numbers too small to be normal count as zero. The CPU computes it precisely.
    """

    name = "cuda.fast"
    ENTRY: ClassVar = FAST
    KEY: ClassVar = "kind"

    kind = prop_def(FastFunctionAttr)
    value = operand_def(f32)
    result = result_def(f32)

    assembly_format = "$kind $value attr-dict"
