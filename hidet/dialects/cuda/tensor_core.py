"""Tensor core ops of warps and warp groups, and loads of their operands."""

from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, UnitAttr, i1, i64
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from hidet.arch.hopper import WGMMA, WGMMA_RS
from hidet.arch.instructions import LDMATRIX, MMA_SYNC, Access, Instruction, Operand
from hidet.dialects.cuda.barriers import GroupWaitOp
from hidet.dialects.cuda.memory_access import MemoryCopyOp
from hidet.dialects.cuda.table_ops import InstructionOp, WarpInstructionOp, element_bits
from hidet.dialects.effects import Effects, read
from hidet.dialects.fields import INT64, SEGMENTED, element_def, one_of
from hidet.dialects.shaped import element_of


class _MmaOp(WarpInstructionOp):
    """A matmul of an entry `config` of the instruction table."""

    KEY: ClassVar = "config"

    config = prop_def(StringAttr)

    irdl_options = SEGMENTED

    @property
    def effects(self) -> Effects:
        """The effects of the table, and reads of matrices with known descriptors."""
        owners = (operand.owner for operand in self.operands)
        matrices = (op.source for op in owners if isinstance(op, MatrixDescriptorOp))
        return (*super().effects, *map(read, matrices))


@irdl_op_definition
class MmaSyncOp(_MmaOp):
    """`cuda.mma_sync "m16n8k16_f16_f32" %a[%i], %b[%j], %c[%k]`: C += A * B, by a warp.

    Each lane holds a fragment of each matrix in consecutive elements of a local array, as given by
    the fragment maps of the instruction table (`hidet.arch.instructions.MMA_SYNC`). All 32 lanes
    participate.
    """

    name = "cuda.mma_sync"
    ENTRY: ClassVar = MMA_SYNC
    ADDRESSES: ClassVar = ("c", "a", "b")

    a, a_indices = element_def()
    b, b_indices = element_def()
    c, c_indices = element_def()

    assembly_format = (
        "$config $a `[` $a_indices `]` `,` $b `[` $b_indices `]` `,` $c `[` $c_indices `]` "
        "attr-dict `:` type($a) `,` type($b) `,` type($c)"
    )


@irdl_op_definition
class LdmatrixOp(WarpInstructionOp, MemoryCopyOp):
    """`cuda.ldmatrix %s[%i, %j] to %r[%k] count 4 trans`: loads 8x8 matrices into fragments.

    Lane i provides the address of a 16-byte row: row i % 8 of matrix i / 8 (with fewer than four
    matrices, only the first lanes). From each matrix it receives two 16-bit elements: columns i % 4
    * 2 and the next one of row i / 4; with `trans`, these rows of that column. All 32 lanes
    participate.
    """

    name = "cuda.ldmatrix"
    ADDRESSES: ClassVar = ("target", "source")

    count = prop_def(INT64)
    trans = opt_prop_def(UnitAttr)

    assembly_format = (
        "$source `[` $source_indices `]` `to` $target `[` $target_indices `]` `count` $count "
        "(`trans` $trans^)? attr-dict `:` type($source) `to` type($target)"
    )

    @property
    def instruction(self) -> Instruction:
        """The table entry."""
        count = self.count.value.data
        found = LDMATRIX.get((count, self.trans is not None))
        if found is None:
            raise VerifyException(f"ldmatrix loads 1, 2 or 4 matrices, not {count}")
        return found

    def verify_(self) -> None:
        """Check the operands, and that elements can be transposed."""
        super().verify_()
        element = element_of(self.source)
        if self.trans is not None and str(element) not in ("f16", "bf16", "i16"):
            raise VerifyException(f"ldmatrix transposes elements of 16 bits, not {element}")


SWIZZLES = (0, 32, 64, 128)
"""Spans in bytes within which 16-byte segments are permuted (PTX ISA, Swizzling Modes)."""

DESCRIPTOR = Instruction(
    "matrix_descriptor",
    (Operand("p", "shared", Access.READ, bytes=16, alignment=1024),),
    ptx="",
    arch=90,
)
"""Not an instruction: a matrix descriptor (PTX ISA, wgmma, Matrix Descriptor)."""

FENCE_OPERAND = Instruction(
    "wgmma_fence_operand", (Operand("d", "local", Access.UPDATE, "f32"),), ptx="", arch=90
)
"""Not an instruction: keeps the compiler from moving accumulator reads before the wait."""

_DISTANCE = one_of(
    range(0, 1 << 18, 16), "distances in a matrix are multiples of 16 bytes below 2^18, not {}"
)


@irdl_op_definition
class MatrixDescriptorOp(InstructionOp):
    """`cuda.matrix_descriptor %s[%i, %j] leading 16 stride 1024 swizzle 128`: a descriptor.

    `stride` is the distance in bytes of groups of eight rows; `leading`, that of blocks along the
    other dimension, matters if a row exceeds the swizzle span. The lower bits are the address
    divided by 16, so a matrix that starts 32 bytes further in a swizzled row has a descriptor
    larger by 2. The array is aligned to 1024 bytes.
    """

    name = "cuda.matrix_descriptor"
    ENTRY: ClassVar = DESCRIPTOR
    TEMPLATE: ClassVar = ("leading", "stride", "swizzle")

    source, indices = element_def()
    leading = prop_def(_DISTANCE)
    stride = prop_def(_DISTANCE)
    swizzle = prop_def(
        one_of(SWIZZLES, "a matrix is swizzled in spans of 0, 32, 64, 128 bytes, not {}")
    )
    result = result_def(i64)

    irdl_options = SEGMENTED
    assembly_format = (
        "$source `[` $indices `]` `leading` $leading `stride` $stride `swizzle` $swizzle "
        "attr-dict `:` type($source)"
    )

    @property
    def effects(self) -> Effects:
        """None: the matrix is read by the users of the descriptor."""
        return ()


@irdl_op_definition
class WgmmaOp(_MmaOp):
    """`cuda.wgmma "m64n128k16_f16_f32" %a, %b, %d[%i] accumulate %p`: asynchronous D = A * B + D.

    A and B are descriptors of 64 x k and k x n matrices, with k of 32 bytes; K is contiguous, or M
    or N with `trans_a` and `trans_b`, for 2-byte elements only. D is overwritten if `%p` is false.
    D must not be accessed until a wait for the commit group. All threads of the warp group
    participate (`hidet.arch.hopper.WGMMA`).
    """

    name = "cuda.wgmma"
    ENTRY: ClassVar = WGMMA
    TEMPLATE: ClassVar = ("trans_a", "trans_b")

    a = operand_def(i64)
    b = operand_def(i64)
    d, d_indices = element_def()
    accumulate = operand_def(i1)
    trans_a = opt_prop_def(UnitAttr)
    trans_b = opt_prop_def(UnitAttr)

    assembly_format = (
        "$config $a (`trans_a` $trans_a^)? `,` $b (`trans_b` $trans_b^)? `,` $d `[` $d_indices `]` "
        "`accumulate` $accumulate attr-dict `:` type($d)"
    )


@irdl_op_definition
class WgmmaRsOp(_MmaOp):
    """`cuda.wgmma_rs "m64n128k16_f16_f32" %a[%i], %b, %d[%j] accumulate %p`: A is in registers.

    Otherwise like `cuda.wgmma`. A is a fragment of 64 x k elements, which must not be modified
    until a wait for the commit group (`hidet.arch.hopper.WGMMA_RS`).
    """

    name = "cuda.wgmma_rs"
    ENTRY: ClassVar = WGMMA_RS
    TEMPLATE: ClassVar = ("trans_b",)
    ADDRESSES: ClassVar = ("d", "a")

    a, a_indices = element_def()
    b = operand_def(i64)
    d, d_indices = element_def()
    accumulate = operand_def(i1)
    trans_b = opt_prop_def(UnitAttr)

    assembly_format = (
        "$config $a `[` $a_indices `]` `,` $b (`trans_b` $trans_b^)? `,` $d `[` $d_indices `]` "
        "`accumulate` $accumulate attr-dict `:` type($a) `,` type($d)"
    )


@irdl_op_definition
class WgmmaWaitOp(GroupWaitOp, WarpInstructionOp):
    """`cuda.wgmma_wait 1`: waits until at most that many commit groups are in flight.

    These are up to 7 (PTX ISA, wgmma.wait_group). A `cuda.wgmma_fence_operand` precedes reads of
    the accumulators.
    """

    name = "cuda.wgmma_wait"
    ENTRY: ClassVar = Instruction(
        "wgmma_wait", (), "wgmma.wait_group.sync.aligned", 90, only=True, orders=True
    )

    pending = prop_def(one_of(range(8), "at most 7 groups may be in flight, not {}"))


@irdl_op_definition
class WgmmaFenceOperandOp(InstructionOp):
    """`cuda.wgmma_fence_operand %d[%i] count 64`: a compiler fence for registers.

    It is not an instruction; it keeps the compiler from moving accumulator reads before a wait.
    """

    name = "cuda.wgmma_fence_operand"
    ENTRY: ClassVar = FENCE_OPERAND
    TEMPLATE: ClassVar = ("count",)

    count = prop_def(INT64)
    d, d_indices = element_def()

    irdl_options = SEGMENTED
    assembly_format = "$d `[` $d_indices `]` `count` $count attr-dict `:` type($d)"

    def bytes_of(self, operand: Operand) -> int:
        """Return the size of all registers."""
        return self.count.value.data * element_bits(self.d) // 8
