"""Barriers that are objects in shared memory, at which threads and copies arrive (Hopper)."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IndexType, MemRefType, i32
from xdsl.irdl import irdl_op_definition, operand_def, var_operand_def

from hidet.arch import hopper
from hidet.dialects.cuda.table_ops import InstructionOp, PlainOp


class _BarrierOp(InstructionOp):
    """An instruction on a barrier, with a number."""

    barrier = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    number = operand_def(i32)


@irdl_op_definition
class MbarrierInitOp(_BarrierOp):
    """`cuda.mbarrier_init %b[%i] count %n`: makes a barrier whose phases end after n arrivals.

    One thread makes it; a `cuda.fence_mbarrier_init` and a barrier of the block come before its
    first use by others.
    """

    name = "cuda.mbarrier_init"
    ENTRY: ClassVar = hopper.MBARRIER_INIT

    assembly_format = "$barrier `[` $indices `]` `count` $number attr-dict `:` type($barrier)"


@irdl_op_definition
class MbarrierExpectOp(_BarrierOp):
    """`cuda.mbarrier_arrive_expect_tx %b[%i] bytes %n`: arrives; the phase wants n bytes too."""

    name = "cuda.mbarrier_arrive_expect_tx"
    ENTRY: ClassVar = hopper.MBARRIER_EXPECT

    assembly_format = "$barrier `[` $indices `]` `bytes` $number attr-dict `:` type($barrier)"


@irdl_op_definition
class MbarrierWaitOp(_BarrierOp):
    """`cuda.mbarrier_wait %b[%i] parity %p`: waits for the end of the phase with this parity.

    The first phase has parity 0; of a new barrier the one before it, of parity 1, has ended.
    """

    name = "cuda.mbarrier_wait"
    ENTRY: ClassVar = hopper.MBARRIER_WAIT

    assembly_format = "$barrier `[` $indices `]` `parity` $number attr-dict `:` type($barrier)"


@irdl_op_definition
class MbarrierArriveOp(InstructionOp):
    """`cuda.mbarrier_arrive %b[%i]`: arrives at a barrier."""

    name = "cuda.mbarrier_arrive"
    ENTRY: ClassVar = hopper.MBARRIER_ARRIVE

    barrier = operand_def(MemRefType)
    indices = var_operand_def(IndexType)

    assembly_format = "$barrier `[` $indices `]` attr-dict `:` type($barrier)"


@irdl_op_definition
class MbarrierArriveClusterOp(_BarrierOp):
    """`cuda.mbarrier_arrive_cluster %b[%i] block %r`: arrives at a barrier of another block.

    It is the one that lies in block r of the cluster where this one lies here.
    """

    name = "cuda.mbarrier_arrive_cluster"
    ENTRY: ClassVar = hopper.MBARRIER_ARRIVE_CLUSTER

    assembly_format = "$barrier `[` $indices `]` `block` $number attr-dict `:` type($barrier)"


@irdl_op_definition
class FenceMbarrierInitOp(PlainOp):
    """`cuda.fence_mbarrier_init`: new barriers of the thread can be seen by copies and others."""

    name = "cuda.fence_mbarrier_init"
    ENTRY: ClassVar = hopper.FENCE_MBARRIER_INIT


@irdl_op_definition
class FenceProxyAsyncOp(PlainOp):
    """`cuda.fence_proxy_async`: stores of the thread to shared memory can be seen by wgmma, TMA."""

    name = "cuda.fence_proxy_async"
    ENTRY: ClassVar = hopper.FENCE_PROXY_ASYNC
