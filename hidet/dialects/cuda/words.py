"""Words: neighbouring scalars as one value, and arithmetic on two halves at once.

`vector<2xf16>` and `vector<2xbf16>` are the words that the machine computes with. A word of a
scalar type has no arithmetic as such: `cuda.join %a, %b : f16, f16 to i32` is the bits of both.
"""

from __future__ import annotations

from enum import auto
from typing import ClassVar

from xdsl.dialects.builtin import (
    I64,
    AnyFloatConstr,
    BFloat16Type,
    FixedBitwidthType,
    Float16Type,
    IntegerAttr,
    IntegerType,
    VectorType,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import (
    BaseAttr,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from hidet.arch.arithmetic import JOIN, PACKED, PART
from hidet.dialects.cuda.arithmetic import ScalarOp

_Word = BaseAttr(IntegerType) | AnyFloatConstr | BaseAttr(VectorType)


def word_bits(kind: Attribute) -> int:
    """Return the bits of a scalar or a pair; raises VerifyException for what is neither."""
    if isinstance(kind, VectorType):
        is_half = isinstance(kind.element_type, Float16Type | BFloat16Type)
        if kind.get_shape() != (2,) or not is_half:
            raise VerifyException(f"a pair is two f16 or two bf16, not {kind}")
        return 32
    bits = kind.bitwidth if isinstance(kind, FixedBitwidthType) else 0
    if bits not in (8, 16, 32, 64):
        raise VerifyException(f"a word has 8, 16, 32 or 64 bits, unlike {kind}")
    return bits


@irdl_op_definition
class JoinOp(ScalarOp):
    """`cuda.join %a, %b : f16, f16 to vector<2xf16>`: the bits of some values as one value.

    The first one has the lowest bits. Of a single value it is the same bits as another type.
    """

    name = "cuda.join"
    ENTRY: ClassVar = JOIN

    parts = var_operand_def(_Word)
    result = result_def(_Word)

    assembly_format = "$parts attr-dict `:` type($parts) `to` type($result)"

    def verify_(self) -> None:
        """Check that the parts are of one type, and have the bits of the result."""
        kinds = {part.type for part in self.parts}
        bits = sum(word_bits(part.type) for part in self.parts)
        if len(kinds) != 1 or bits != word_bits(self.result.type):
            listed = ", ".join(str(part.type) for part in self.parts)
            raise VerifyException(f"{listed or 'nothing'} cannot be joined to {self.result.type}")


@irdl_op_definition
class PartOp(ScalarOp):
    """`cuda.part 1 of %w : vector<2xf16> to f16`: some neighbouring bits of a value."""

    name = "cuda.part"
    ENTRY: ClassVar = PART

    whole = operand_def(_Word)
    number = prop_def(IntegerAttr[I64])
    result = result_def(_Word)

    assembly_format = "$number `of` $whole attr-dict `:` type($whole) `to` type($result)"

    def verify_(self) -> None:
        """Check that the whole has this part."""
        count, rest = divmod(word_bits(self.whole.type), word_bits(self.result.type))
        if rest or count < 2 or not 0 <= self.number.value.data < count:
            raise VerifyException(
                f"{self.whole.type} has no part {self.number.value.data} of {self.result.type}"
            )


class PackedFunction(StrEnum):
    """What the machine computes of two halves at once."""

    ADD = auto()
    SUB = auto()
    MUL = auto()
    FMA = auto()
    MIN = auto()
    MAX = auto()
    NEG = auto()
    ABS = auto()


OPERANDS = {PackedFunction.NEG: 1, PackedFunction.ABS: 1, PackedFunction.FMA: 3}
"""How many operands a packed function has, where that is not two."""


@irdl_attr_definition
class PackedFunctionAttr(EnumAttribute[PackedFunction], SpacedOpaqueSyntaxAttribute):
    """`add`, `sub`, `mul`, `fma`, `min`, `max`, `neg` or `abs`."""

    name = "cuda.packed_function"


@irdl_op_definition
class PackedOp(ScalarOp):
    """`cuda.packed fma %a, %b, %c : vector<2xf16>`: a function of both elements of pairs.

    Each result is rounded once, to nearest even; compilers do not contract two of them. `min` and
    `max` prefer a number to NaN.
    """

    name = "cuda.packed"
    ENTRY: ClassVar = PACKED
    KEY: ClassVar = "kind"

    T: ClassVar = VarConstraint("T", BaseAttr(VectorType))

    kind = prop_def(PackedFunctionAttr)
    values = var_operand_def(T)
    result = result_def(T)

    assembly_format = "$kind $values attr-dict `:` type($result)"

    def verify_(self) -> None:
        """Check the number of operands, and that they are pairs."""
        wanted = OPERANDS.get(self.kind.data, 2)
        if len(self.values) != wanted:
            raise VerifyException(
                f"'{self.kind.data.value}' takes {wanted} pairs, not {len(self.values)}"
            )
        word_bits(self.result.type)
