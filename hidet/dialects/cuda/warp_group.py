"""Products of matrices by a warp group (wgmma, sm_90a): both operands are in shared memory."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    I64,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    UnitAttr,
    i1,
    i64,
)
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from hidet.arch.hopper import (
    WGMMA,
    WGMMA_COMMIT,
    WGMMA_DESCRIPTOR,
    WGMMA_FENCE,
    WGMMA_FENCE_OPERAND,
    WGMMA_WAIT,
)
from hidet.arch.instructions import Instruction, MmaInstruction, Operand
from hidet.dialects.cuda.instructions import WarpCollective
from hidet.dialects.cuda.table_ops import (
    Element,
    GroupWaitOp,
    InstructionOp,
    PlainOp,
    element_bits,
)
from hidet.dialects.cuda.tensor_core import mma_named

SWIZZLES = (0, 32, 64, 128)
"""Spans in bytes within which 16-byte pieces change places (PTX ISA, Swizzling Modes)."""


@irdl_op_definition
class MatrixDescriptorOp(InstructionOp):
    """`cuda.matrix_descriptor %s[%i, %j] leading 16 stride 1024 swizzle 128`: describes a matrix.

    `stride` is the distance in bytes between groups of eight rows; `leading`, that between blocks
    along the other dimension, counts where a row does not fit into the swizzle. A matrix 16 columns
    further on inside of a swizzled row has a descriptor larger by 2: its lower bits are the address
    divided by 16. The array starts at a multiple of 1024 bytes.
    """

    name = "cuda.matrix_descriptor"

    leading = prop_def(IntegerAttr[I64])
    stride = prop_def(IntegerAttr[I64])
    swizzle = prop_def(IntegerAttr[I64])
    source = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    result = result_def(i64)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$source `[` $indices `]` `leading` $leading `stride` $stride `swizzle` $swizzle "
        "attr-dict `:` type($source)"
    )
    traits = traits_def(Pure())

    def __init__(self, source: Element, *, leading: int, stride: int, swizzle: int) -> None:
        super().__init__(
            properties={
                "leading": IntegerAttr(leading, i64),
                "stride": IntegerAttr(stride, i64),
                "swizzle": IntegerAttr(swizzle, i64),
            },
            operands=[source.memref, source.indices],
            result_types=[i64],
        )

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        return WGMMA_DESCRIPTOR

    @property
    def function(self) -> str:
        """The function, with the distances in the matrix and its swizzle."""
        numbers = (self.leading, self.stride, self.swizzle)
        return f"matrix_descriptor<{', '.join(str(number.value.data) for number in numbers)}>"

    @property
    def elements(self) -> tuple[Element, ...]:
        """The first element of the matrix."""
        return (Element(self.source, self.indices),)

    def verify_(self) -> None:
        """Check the operand, the swizzle and the distances."""
        super().verify_()
        if self.swizzle.value.data not in SWIZZLES:
            raise VerifyException(
                f"a matrix is swizzled in spans of {', '.join(map(str, SWIZZLES))} bytes, "
                f"not {self.swizzle.value.data}"
            )
        for distance in (self.leading.value.data, self.stride.value.data):
            if distance % 16 != 0 or not 0 <= distance < 1 << 18:
                raise VerifyException(
                    f"distances in a matrix are multiples of 16 bytes below 2^18, not {distance}"
                )


@irdl_op_definition
class WgmmaOp(InstructionOp):
    """`cuda.wgmma "m64n128k16_f16_f32" %a, %b, %d[%i] accumulate %p`: D = A * B + D, in time.

    A and B are given by descriptors: 64 x 16 and 16 x n elements, of which those along k are
    neighbours in memory, those along m or n with `trans_a` and `trans_b`. Without `accumulate` D is
    only written, with it the product is added where `%p` is true. D is neither read nor written by
    anything else until a wait for the group of the product. All threads of the warp group take part
    (`hidet.arch.hopper.WGMMA`).
    """

    name = "cuda.wgmma"

    config = prop_def(StringAttr)
    trans_a = opt_prop_def(UnitAttr)
    trans_b = opt_prop_def(UnitAttr)
    a = operand_def(i64)
    b = operand_def(i64)
    d = operand_def(MemRefType)
    d_indices = var_operand_def(IndexType)
    accumulate = operand_def(i1)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$config $a (`trans_a` $trans_a^)? `,` $b (`trans_b` $trans_b^)? `,` $d `[` $d_indices `]` "
        "`accumulate` $accumulate attr-dict `:` type($d)"
    )
    traits = traits_def(WarpCollective(), MemoryReadEffect(), MemoryWriteEffect())

    def __init__(
        self,
        config: str,
        a: SSAValue | Operation,
        b: SSAValue | Operation,
        d: Element,
        accumulate: SSAValue | Operation,
        *,
        trans_a: bool = False,
        trans_b: bool = False,
    ) -> None:
        super().__init__(
            properties={
                "config": StringAttr(config),
                "trans_a": UnitAttr() if trans_a else None,
                "trans_b": UnitAttr() if trans_b else None,
            },
            operands=[a, b, d.memref, d.indices, accumulate],
        )

    @property
    def instruction(self) -> MmaInstruction:
        """The entry of the table."""
        return mma_named(self.config.data, WGMMA, "wgmma")

    @property
    def function(self) -> str:
        """The function, with the directions of A and B."""
        flags = (self.trans_a is not None, self.trans_b is not None)
        return f"{self.instruction.function}<{', '.join(str(int(flag)) for flag in flags)}>"

    @property
    def elements(self) -> tuple[Element, ...]:
        """The first accumulator."""
        return (Element(self.d, self.d_indices),)

    @property
    def scalars(self) -> Sequence[SSAValue]:
        """The descriptors, and whether D is added to."""
        return (self.a, self.b, self.accumulate)

    @property
    def reads(self) -> tuple[SSAValue, ...]:
        """D, and the matrices whose descriptors are in sight."""
        descriptors = (self.a.owner, self.b.owner)
        matrices = (op.source for op in descriptors if isinstance(op, MatrixDescriptorOp))
        return (*super().reads, *matrices)


@irdl_op_definition
class WgmmaFenceOp(PlainOp):
    """`cuda.wgmma_fence`: before the first product, and after other code has written its D."""

    name = "cuda.wgmma_fence"

    traits = traits_def(WarpCollective())

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        return WGMMA_FENCE


@irdl_op_definition
class WgmmaCommitOp(PlainOp):
    """`cuda.wgmma_commit`: makes a group of the products of the warp group since its last group."""

    name = "cuda.wgmma_commit"

    traits = traits_def(WarpCollective())

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        return WGMMA_COMMIT


@irdl_op_definition
class WgmmaWaitOp(GroupWaitOp):
    """`cuda.wgmma_wait 1`: waits for the groups of products, but for so many of the latest ones.

    A `cuda.wgmma_fence_operand` comes between it and what reads the accumulators.
    """

    name = "cuda.wgmma_wait"

    traits = traits_def(WarpCollective())

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        return WGMMA_WAIT

    def verify_(self) -> None:
        """Check the number of groups (PTX ISA, wgmma.wait_group)."""
        super().verify_()
        if self.pending.value.data > 7:
            raise VerifyException(
                f"at most 7 groups of products may be under way, not {self.pending.value.data}"
            )


@irdl_op_definition
class WgmmaFenceOperandOp(InstructionOp):
    """`cuda.wgmma_fence_operand %d[%i] count 64`: what is done with these registers comes after it.

    It is no instruction; it keeps the compiler from moving reads of accumulators ahead of a wait.
    """

    name = "cuda.wgmma_fence_operand"

    count = prop_def(IntegerAttr[I64])
    d = operand_def(MemRefType)
    d_indices = var_operand_def(IndexType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = "$d `[` $d_indices `]` `count` $count attr-dict `:` type($d)"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, count: int, d: Element) -> None:
        super().__init__(
            properties={"count": IntegerAttr(count, i64)}, operands=[d.memref, d.indices]
        )

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        return WGMMA_FENCE_OPERAND

    @property
    def function(self) -> str:
        """The function, with the number of registers."""
        return f"{self.instruction.function}<{self.count.value.data}>"

    @property
    def elements(self) -> tuple[Element, ...]:
        """The first register."""
        return (Element(self.d, self.d_indices),)

    def bytes_of(self, operand: Operand) -> int:
        """Return the size of all registers."""
        return self.count.value.data * element_bits(self.d) // 8
