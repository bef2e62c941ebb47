"""Scalar and packed arithmetic beyond `arith` and `math`: instruction tables and ops.

A table entry has the name in the device header and the required architecture. `vector<2xf16>` and
`vector<2xbf16>` are packed 32-bit words. `cuda.join %a, %b : f16, f16 to i32` reinterprets bits.
"""

from typing import ClassVar

from xdsl.dialects.builtin import (
    BFloat16Type,
    FixedBitwidthType,
    Float16Type,
    IndexType,
    SignlessIntegerConstraint,
    StringAttr,
    VectorType,
    f32,
    i32,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    BaseAttr,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from hidet.arch.functions import FUNCTIONS, ScalarFunction
from hidet.arch.instructions import Instruction
from hidet.dialects.cuda.table_ops import InstructionOp
from hidet.dialects.effects import PureOp
from hidet.dialects.fields import INT64, SCALAR, enum_attribute, one_of


class ScalarOp(InstructionOp):
    """A pure instruction on scalars."""


PACKED: dict[str, Instruction] = {
    name: Instruction(f"packed_{name}", (), f"{name}{rounding}.f16x2", 80)
    for names, rounding in (("add sub mul fma", ".rn"), ("min max neg abs", ""))
    for name in names.split()
}
"""Packed functions of two f16 or bf16, by name."""


@irdl_op_definition
class Lop3Op(ScalarOp):
    """`cuda.lop3 %a, %b, %c table 232`: a bitwise function of three words.

    Bit 4 * a + 2 * b + c of the table is the value for bits a, b and c: the table of a function f
    is f(0xF0, 0xCC, 0xAA).
    """

    name = "cuda.lop3"
    ENTRY: ClassVar = Instruction("lop3", (), "lop3.b32", 50)

    a = operand_def(i32)
    b = operand_def(i32)
    c = operand_def(i32)
    table = prop_def(one_of(range(256), "a lookup table is 0 to 255, not {}"))
    result = result_def(i32)

    assembly_format = "$a `,` $b `,` $c `table` $table attr-dict"

    @property
    def function(self) -> str:
        """The function, with the lookup table."""
        return f"{self.instruction.function}<{self.table.value.data:#04x}>"


@irdl_op_definition
class PrmtOp(ScalarOp):
    """`cuda.prmt %a, %b, %selector`: selects four of the eight bytes of two words.

    The i-th 4-bit digit of the selector selects byte i: 0 to 3 from a, 4 to 7 from b; with 8 added,
    the sign of that byte is replicated.
    """

    name = "cuda.prmt"
    ENTRY: ClassVar = Instruction("prmt", (), "prmt.b32", 50)

    a = operand_def(i32)
    b = operand_def(i32)
    selector = operand_def(i32)
    result = result_def(i32)

    assembly_format = "$a `,` $b `,` $selector attr-dict"


@irdl_op_definition
class RoundTf32Op(ScalarOp):
    """`cuda.round_tf32 %x`: an f32 rounded to the nearest TF32, ties away from zero.

    Tensor cores ignore the lower 13 bits of an operand, which truncates it; they are zero here.
    """

    name = "cuda.round_tf32"
    ENTRY: ClassVar = Instruction("round_tf32", (), "cvt.rna.tf32.f32", 80)

    value = operand_def(f32)
    result = result_def(f32)

    assembly_format = "$value attr-dict"


@irdl_op_definition
class FunctionOp(ScalarOp):
    """`cuda.function "popc"(%x) : (i32) -> i32`: a function of `hidet.arch.functions`.

    Integers are signless: a word has 32 or 64 bits.
    """

    name = "cuda.function"
    ENTRY: ClassVar = FUNCTIONS
    KEY: ClassVar = "callee"

    callee = prop_def(StringAttr)
    values = var_operand_def(SCALAR)
    result = result_def(SCALAR)

    assembly_format = "$callee `(` $values `)` attr-dict `:` functional-type(operands, results)"

    def verify_(self) -> None:
        """Check the types."""
        entry = self.instruction
        assert isinstance(entry, ScalarFunction)
        signatures = [entry.signature(wide) for wide in (False, True)]
        found = tuple(str(value.type) for value in self.values), str(self.result.type)
        if found not in signatures:
            texts = (f"({', '.join(takes)}) -> {gives}" for takes, gives in signatures)
            raise VerifyException(
                f"'{self.callee.data}' is of type {' or '.join(dict.fromkeys(texts))}"
            )


@irdl_op_definition
class FloorModOp(PureOp):
    """`cuda.floormodsi %a, %b : i32`: the remainder of `arith.floordivsi`, as Python's `a % b`.

    It has the sign of b, whereas `arith.remsi` has that of a.
    """

    name = "cuda.floormodsi"

    T: ClassVar = VarConstraint("T", SignlessIntegerConstraint | BaseAttr(IndexType))

    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"


_Word = SCALAR | BaseAttr(VectorType)


def word_bits(kind: Attribute) -> int:
    """Return the bits of a scalar or a pair; raise VerifyException for other types."""
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
    """`cuda.join %a, %b : f16, f16 to vector<2xf16>`: the concatenated bits of values.

    The first one has the lowest bits. A single value is bitcast.
    """

    name = "cuda.join"
    ENTRY: ClassVar = Instruction("join", (), "mov", 50)

    parts = var_operand_def(_Word)
    result = result_def(_Word)

    assembly_format = "$parts attr-dict `:` type($parts) `to` type($result)"

    def verify_(self) -> None:
        """Check that the parts have the same type, and together the bits of the result."""
        kinds = {part.type for part in self.parts}
        bits = sum(word_bits(part.type) for part in self.parts)
        if len(kinds) != 1 or bits != word_bits(self.result.type):
            listed = ", ".join(str(part.type) for part in self.parts)
            raise VerifyException(f"{listed or 'nothing'} cannot be joined to {self.result.type}")


@irdl_op_definition
class PartOp(ScalarOp):
    """`cuda.part 1 of %w : vector<2xf16> to f16`: a slice of the bits of a value."""

    name = "cuda.part"
    ENTRY: ClassVar = Instruction("part", (), "mov", 50)

    whole = operand_def(_Word)
    number = prop_def(INT64)
    result = result_def(_Word)

    assembly_format = "$number `of` $whole attr-dict `:` type($whole) `to` type($result)"

    def verify_(self) -> None:
        """Check that the part is in range."""
        count, rest = divmod(word_bits(self.whole.type), word_bits(self.result.type))
        if rest or count < 2 or not 0 <= self.number.value.data < count:
            raise VerifyException(
                f"{self.whole.type} has no part {self.number.value.data} of {self.result.type}"
            )


PackedFunction = StrEnum("PackedFunction", "ADD SUB MUL FMA MIN MAX NEG ABS")

OPERANDS = {PackedFunction.NEG: 1, PackedFunction.ABS: 1, PackedFunction.FMA: 3}
"""The number of operands of packed functions; two by default."""


@irdl_op_definition
class PackedOp(ScalarOp):
    """`cuda.packed fma %a, %b, %c : vector<2xf16>`: a function of both elements of pairs.

    Each result is rounded once, to nearest even, and never contracted. `min` and `max` prefer a
    number to NaN.
    """

    name = "cuda.packed"
    ENTRY: ClassVar = PACKED
    KEY: ClassVar = "kind"

    T: ClassVar = VarConstraint("T", BaseAttr(VectorType))

    kind = prop_def(enum_attribute("cuda.packed_function", PackedFunction))
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
