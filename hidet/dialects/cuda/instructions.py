"""Basic CUDA ops: ids, barriers, shuffles, exits, printing, and traits of collectives."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IndexType, StringAttr, i1, i32
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import OpTrait
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.cuda.attributes import Dimension, LeaveKind, ShuffleKind
from hidet.dialects.effects import AnyMemoryOp, MachineOp, PureOp
from hidet.dialects.fields import SCALAR, Field, define, enum_attribute, one_of
from hidet.dialects.walking import parents_of
from hidet.escape import from_ascii, to_ascii

SEGMENTS = (2, 4, 8, 16)
"""The segment sizes of a shuffle."""


class Collective(OpTrait):
    """All threads of the block or warp execute the op together (convergent)."""


class WarpCollective(Collective):
    """All lanes of a warp execute the op together, independently of other warps."""


class BlockBarrier(OpTrait):
    """A barrier of all threads of the block, which orders their memory accesses."""


class IdOp(PureOp):
    """An index or extent of the launch along one dimension."""

    dimension = prop_def(enum_attribute("cuda.dimension", Dimension))
    result = result_def(IndexType)

    assembly_format = "$dimension attr-dict"

    def __init__(self, dimension: Dimension = Dimension.X) -> None:
        super().__init__(dimension)

    def name_among(self, ids: "Iterable[IdOp]") -> str:
        """Return `tid` for the only thread id of a kernel, `tx`, `ty` and `tz` for several."""
        dimension, kind = self.dimension.data, self.name.partition(".")[2]
        is_only = dimension is Dimension.X and sum(type(op) is type(self) for op in ids) == 1
        if type(self) not in (ThreadIdOp, BlockIdOp):  # grid_dim, block_dim
            return kind if is_only else f"{kind}_{dimension.value}"
        return f"{kind[0]}{'id' if is_only else dimension.value}"


ThreadIdOp = define(
    IdOp, "cuda.thread_id", "`cuda.thread_id x`: `threadIdx.x`, smaller than the block's extent."
)
BlockIdOp = define(
    IdOp, "cuda.block_id", "`cuda.block_id x`: `blockIdx.x`, smaller than the grid's extent."
)
BlockDimOp = define(
    IdOp, "cuda.block_dim", "`cuda.block_dim x`: `blockDim.x`, for kernels with dynamic extents."
)
GridDimOp = define(
    IdOp, "cuda.grid_dim", "`cuda.grid_dim x`: `gridDim.x`, for kernels with dynamic extents."
)


@irdl_op_definition
class SyncThreadsOp(AnyMemoryOp):
    """`cuda.sync_threads`: a barrier of the block; orders shared and global memory accesses."""

    name = "cuda.sync_threads"

    assembly_format = "attr-dict"
    traits = traits_def(BlockBarrier(), Collective())


@irdl_op_definition
class SyncWarpOp(AnyMemoryOp):
    """`cuda.sync_warp`: a barrier of the warp; orders the memory accesses of its lanes.

    With `mask %m` only the lanes whose bits are set participate.
    """

    name = "cuda.sync_warp"

    mask = opt_operand_def(i32)

    assembly_format = "(`mask` $mask^)? attr-dict"
    traits = traits_def(Collective())


@irdl_op_definition
class ShflOp(MachineOp):
    """`cuda.shfl xor %v, %offset`: the value of another lane (PTX ISA, `shfl.sync`).

    All 32 lanes participate, or with `mask %m` those whose bits are set, with the same mask; values
    of other lanes are undefined. With `width 8` lanes are indexed within segments of 8; a lane that
    would read outside of its segment gets its own value.
    """

    name = "cuda.shfl"

    T: ClassVar = VarConstraint("T", SCALAR)

    kind = prop_def(enum_attribute("cuda.shuffle", ShuffleKind))
    value = operand_def(T)
    lane = operand_def(i32)
    width = opt_prop_def(one_of(SEGMENTS, "segments of {} lanes; 2, 4, 8 or 16"))
    mask = opt_operand_def(i32)
    result = result_def(T)

    assembly_format = (
        "$kind $value `,` $lane (`width` $width^)? (`mask` $mask^)? attr-dict `:` type($value)"
    )
    traits = traits_def(Collective())


@irdl_op_definition
class LeaveOp(MachineOp):
    """`cuda.leave break` exits the loop around it, `continue` its iteration, `return` the kernel.

    It may be ignored: up to its target, the program does nothing after it, since branches marked
    `cuda.guard` test a flag. It becomes the only exit when `restore-exits` removes these guards.
    """

    name = "cuda.leave"

    kind = prop_def(enum_attribute("cuda.leave_kind", LeaveKind))

    assembly_format = "$kind attr-dict"

    def verify_(self) -> None:
        """Check that there is a loop to exit."""
        if self.kind.data is LeaveKind.RETURN:
            return
        loops = "scf.for", "scf.while", "task.foreach"
        if not any(parent.name in loops for parent in parents_of(self)):
            raise VerifyException(f"no loop around that '{self.kind.data.value}' could leave")


def leaves_loop(loop: Operation) -> bool:
    """Return whether a `cuda.leave` exits a loop, or one inside it, or its iteration."""
    leaves = (op for op in loop.walk() if isinstance(op, LeaveOp))
    return any(op.kind.data is not LeaveKind.RETURN for op in leaves)


@irdl_op_definition
class PrintfOp(AnyMemoryOp):
    """`cuda.printf "i = %d" (%i : i32)`: prints to the standard output, as C's `printf`.

    The format must match the types: `%d` an i32, `%lld` an i64, `%f` a float (CUDA C++ Programming
    Guide, formatted output).
    """

    name = "cuda.printf"

    format = prop_def(StringAttr)
    values = var_operand_def(SCALAR)

    assembly_format = "$format (`(` $values^ `:` type($values) `)`)? attr-dict"

    def __init__(self, format: str, values: Sequence[SSAValue]) -> None:
        super().__init__(to_ascii(format), values)

    @property
    def text(self) -> str:
        """The format, as the user wrote it."""
        return from_ascii(self.format.data)


@irdl_op_definition
class AssertOp(AnyMemoryOp):
    """`cuda.assert %ok, "kernel.py:3: n > 0"`: aborts the kernel with a message unless `%ok`.

    On a GPU the thread prints the message and traps (PTX ISA, `trap`), so that the launch fails; on
    the CPU the launch returns an error.
    """

    name = "cuda.assert"

    condition = operand_def(i1)
    message = prop_def(StringAttr)

    assembly_format = "$condition `,` $message attr-dict"

    def __init__(self, condition: Field, message: str) -> None:
        super().__init__(condition, to_ascii(message))

    @property
    def text(self) -> str:
        """The message, as the user wrote it."""
        return from_ascii(self.message.data)
