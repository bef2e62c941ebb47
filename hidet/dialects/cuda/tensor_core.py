"""Tensor cores: products of small matrices, and the loads that feed them."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import I64, IndexType, IntegerAttr, MemRefType, StringAttr, UnitAttr
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from hidet.arch.instructions import LDMATRIX, MMA_SYNC, Instruction
from hidet.dialects.cuda.instructions import WarpCollective
from hidet.dialects.cuda.table_ops import InstructionOp
from hidet.dialects.shaped import memref_type


@irdl_op_definition
class MmaSyncOp(InstructionOp):
    """`cuda.mma_sync "m16n8k16_f16_f32" %a[%i], %b[%j], %c[%k]`: C += A * B, by a warp.

    Each lane holds a fragment of each matrix: neighbouring elements of a local array, those that
    the fragment map of the instruction table gives it (`hidet.arch.instructions.MMA_SYNC`). All 32
    lanes take part.
    """

    name = "cuda.mma_sync"
    ENTRY: ClassVar = MMA_SYNC
    KEY: ClassVar = "config"
    ADDRESSES: ClassVar = ("c", "a", "b")

    config = prop_def(StringAttr)
    a = operand_def(MemRefType)
    a_indices = var_operand_def(IndexType)
    b = operand_def(MemRefType)
    b_indices = var_operand_def(IndexType)
    c = operand_def(MemRefType)
    c_indices = var_operand_def(IndexType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$config $a `[` $a_indices `]` `,` $b `[` $b_indices `]` `,` $c `[` $c_indices `]` "
        "attr-dict `:` type($a) `,` type($b) `,` type($c)"
    )
    traits = traits_def(WarpCollective())


@irdl_op_definition
class LdmatrixOp(InstructionOp):
    """`cuda.ldmatrix %s[%i, %j] to %r[%k] count 4 trans`: loads 8x8 matrices into fragments.

    Lane i gives the address of a row of 16 bytes: row i % 8 of matrix i / 8 (with fewer than four
    matrices, the first lanes do). It receives, of each matrix in turn, two elements of 16 bits:
    columns i % 4 * 2 and the next one of row i / 4; with `trans` these rows of that column. All 32
    lanes take part.
    """

    name = "cuda.ldmatrix"
    ADDRESSES: ClassVar = ("target", "source")

    count = prop_def(IntegerAttr[I64])
    source = operand_def(MemRefType)
    source_indices = var_operand_def(IndexType)
    target = operand_def(MemRefType)
    target_indices = var_operand_def(IndexType)
    trans = opt_prop_def(UnitAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$source `[` $source_indices `]` `to` $target `[` $target_indices `]` `count` $count "
        "(`trans` $trans^)? attr-dict `:` type($source) `to` type($target)"
    )
    traits = traits_def(WarpCollective())

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        count = self.count.value.data
        found = LDMATRIX.get((count, self.trans is not None))
        if found is None:
            raise VerifyException(f"ldmatrix loads 1, 2 or 4 matrices, not {count}")
        return found

    def verify_(self) -> None:
        """Check the operands, and that both have the same elements."""
        super().verify_()
        source, target = memref_type(self.source), memref_type(self.target)
        if source.element_type != target.element_type:
            raise VerifyException(f"cannot load elements of {source} into {target}")
        if self.trans is not None and str(source.element_type) not in ("f16", "bf16", "i16"):
            raise VerifyException(
                f"ldmatrix transposes elements of 16 bits, not {source.element_type}"
            )
