"""What a CUDA thread asks of the machine: its ids, barriers, shuffles, wide copies."""

from typing import ClassVar

from xdsl.dialects.builtin import I64, AnyFloatConstr, IndexType, IntegerAttr, IntegerType, i32
from xdsl.irdl import (
    BaseAttr,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, OpTrait, Pure
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.cuda.attributes import Dimension, DimensionAttr, ShuffleKindAttr
from hidet.dialects.effects import MachineEffect
from hidet.dialects.fields import FieldsOp

SEGMENTS = (2, 4, 8, 16)
"""The parts of a warp that a shuffle can stay in."""


class Collective(OpTrait):
    """Threads meet here: all of the block or warp execute it together, never some of them alone."""


class WarpCollective(Collective):
    """The lanes of a warp meet here; other warps need not come by."""


class BlockBarrier(OpTrait):
    """All threads of the block wait for each other here, and see what each has done to memory."""


class IdOp(FieldsOp):
    """An id of the running thread, or an extent of its launch, along one dimension."""

    dimension = prop_def(DimensionAttr)
    result = result_def(IndexType)

    assembly_format = "$dimension attr-dict"
    traits = traits_def(Pure())

    def __init__(self, dimension: Dimension = Dimension.X) -> None:
        super().__init__(dimension)


@irdl_op_definition
class ThreadIdOp(IdOp):
    """`cuda.thread_id x`: `threadIdx.x`, smaller than the block's extent."""

    name = "cuda.thread_id"


@irdl_op_definition
class BlockIdOp(IdOp):
    """`cuda.block_id x`: `blockIdx.x`, smaller than the grid's extent."""

    name = "cuda.block_id"


@irdl_op_definition
class BlockDimOp(IdOp):
    """`cuda.block_dim x`: `blockDim.x`, for kernels whose launches give the extent."""

    name = "cuda.block_dim"


@irdl_op_definition
class GridDimOp(IdOp):
    """`cuda.grid_dim x`: `gridDim.x`, for kernels whose launches give the extent."""

    name = "cuda.grid_dim"


@irdl_op_definition
class SyncThreadsOp(FieldsOp):
    """`cuda.sync_threads`: barrier of a block; orders its accesses to shared and global memory."""

    name = "cuda.sync_threads"

    assembly_format = "attr-dict"
    traits = traits_def(BlockBarrier(), Collective(), MemoryReadEffect(), MemoryWriteEffect())


@irdl_op_definition
class SyncWarpOp(FieldsOp):
    """`cuda.sync_warp`: barrier of a warp; orders the memory accesses of its lanes.

    With `mask %m` it is one of the lanes whose bits are set, all of which come by.
    """

    name = "cuda.sync_warp"

    mask = opt_operand_def(i32)

    assembly_format = "(`mask` $mask^)? attr-dict"
    traits = traits_def(Collective(), MemoryReadEffect(), MemoryWriteEffect())


@irdl_op_definition
class ShflOp(FieldsOp):
    """`cuda.shfl xor %v, %offset`: the value of another lane (PTX ISA, `shfl.sync`).

    All 32 lanes of the warp take part, or with `mask %m` those whose bits are set: they come with
    the same mask, and what another lane gives is not known. With `width 8` each segment of 8 lanes
    is by itself: lanes are numbered in it, and one that would read outside gets its own value.
    """

    name = "cuda.shfl"

    T: ClassVar = VarConstraint("T", BaseAttr(IntegerType) | AnyFloatConstr)

    kind = prop_def(ShuffleKindAttr)
    value = operand_def(T)
    lane = operand_def(i32)
    width = opt_prop_def(IntegerAttr[I64])
    mask = opt_operand_def(i32)
    result = result_def(T)

    assembly_format = (
        "$kind $value `,` $lane (`width` $width^)? (`mask` $mask^)? attr-dict `:` type($value)"
    )
    traits = traits_def(Collective(), MachineEffect())

    def verify_(self) -> None:
        """Check the width."""
        if self.width is not None and self.width.value.data not in SEGMENTS:
            raise VerifyException(f"segments of {self.width.value.data} lanes; 2, 4, 8 or 16")
