"""Barriers that are objects in shared memory, at which threads and copies arrive (Hopper)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, MemRefType, i32
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, traits_def, var_operand_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from hidet.arch import hopper
from hidet.arch.instructions import Instruction
from hidet.dialects.cuda.table_ops import Element, InstructionOp, PlainOp


class _BarrierOp(InstructionOp):
    """An instruction on a barrier, with a number."""

    barrier = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    number = operand_def(i32)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, barrier: Element, number: SSAValue) -> None:
        super().__init__(operands=[barrier.memref, barrier.indices, number])

    @property
    def elements(self) -> tuple[Element, ...]:
        """The barrier."""
        return (Element(self.barrier, self.indices),)

    @property
    def scalars(self) -> Sequence[SSAValue]:
        """The number."""
        return (self.number,)


@irdl_op_definition
class MbarrierInitOp(_BarrierOp):
    """`cuda.mbarrier_init %b[%i] count %n`: makes a barrier whose phases end after n arrivals.

    One thread makes it; a `cuda.fence_mbarrier_init` and a barrier of the block come before its
    first use by others.
    """

    name = "cuda.mbarrier_init"

    assembly_format = "$barrier `[` $indices `]` `count` $number attr-dict `:` type($barrier)"

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        return hopper.MBARRIER_INIT


@irdl_op_definition
class MbarrierExpectOp(_BarrierOp):
    """`cuda.mbarrier_arrive_expect_tx %b[%i] bytes %n`: arrives; the phase wants n bytes too."""

    name = "cuda.mbarrier_arrive_expect_tx"

    assembly_format = "$barrier `[` $indices `]` `bytes` $number attr-dict `:` type($barrier)"

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        return hopper.MBARRIER_EXPECT


@irdl_op_definition
class MbarrierWaitOp(_BarrierOp):
    """`cuda.mbarrier_wait %b[%i] parity %p`: waits for the end of the phase with this parity.

    The first phase has parity 0; of a new barrier the one before it, of parity 1, has ended.
    """

    name = "cuda.mbarrier_wait"

    assembly_format = "$barrier `[` $indices `]` `parity` $number attr-dict `:` type($barrier)"

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        return hopper.MBARRIER_WAIT


@irdl_op_definition
class MbarrierArriveOp(InstructionOp):
    """`cuda.mbarrier_arrive %b[%i]`: arrives at a barrier."""

    name = "cuda.mbarrier_arrive"

    barrier = operand_def(MemRefType)
    indices = var_operand_def(IndexType)

    assembly_format = "$barrier `[` $indices `]` attr-dict `:` type($barrier)"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, barrier: Element) -> None:
        super().__init__(operands=[barrier.memref, barrier.indices])

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        return hopper.MBARRIER_ARRIVE

    @property
    def elements(self) -> tuple[Element, ...]:
        """The barrier."""
        return (Element(self.barrier, self.indices),)


@irdl_op_definition
class FenceMbarrierInitOp(PlainOp):
    """`cuda.fence_mbarrier_init`: new barriers of the thread can be seen by copies and others."""

    name = "cuda.fence_mbarrier_init"

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        return hopper.FENCE_MBARRIER_INIT


@irdl_op_definition
class FenceProxyAsyncOp(PlainOp):
    """`cuda.fence_proxy_async`: stores of the thread to shared memory can be seen by wgmma, TMA."""

    name = "cuda.fence_proxy_async"

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        return hopper.FENCE_PROXY_ASYNC
