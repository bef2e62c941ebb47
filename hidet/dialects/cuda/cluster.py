"""What blocks of a cluster do together: meet, arrive at each other's barriers, share copies."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, MemRefType, i32
from xdsl.ir import SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from hidet.arch import hopper
from hidet.arch.instructions import Instruction
from hidet.dialects.cuda.instructions import Collective
from hidet.dialects.cuda.table_ops import Element, InstructionOp, PlainOp


@irdl_op_definition
class ClusterArriveOp(PlainOp):
    """`cuda.cluster_arrive`: comes to the barrier of the cluster, and goes on at once."""

    name = "cuda.cluster_arrive"

    traits = traits_def(Collective())

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        return hopper.CLUSTER_ARRIVE


@irdl_op_definition
class ClusterWaitOp(PlainOp):
    """`cuda.cluster_wait`: waits until all threads of the cluster have come to its barrier."""

    name = "cuda.cluster_wait"

    traits = traits_def(Collective())

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        return hopper.CLUSTER_WAIT


@irdl_op_definition
class MbarrierArriveClusterOp(InstructionOp):
    """`cuda.mbarrier_arrive_cluster %b[%i] block %r`: arrives at a barrier of another block.

    It is the one that lies in block r of the cluster where this one lies here.
    """

    name = "cuda.mbarrier_arrive_cluster"

    barrier = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    block = operand_def(i32)

    assembly_format = "$barrier `[` $indices `]` `block` $block attr-dict `:` type($barrier)"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, barrier: Element, block: SSAValue) -> None:
        super().__init__(operands=[barrier.memref, barrier.indices, block])

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        return hopper.MBARRIER_ARRIVE_CLUSTER

    @property
    def elements(self) -> tuple[Element, ...]:
        """The barrier."""
        return (Element(self.barrier, self.indices),)

    @property
    def scalars(self) -> Sequence[SSAValue]:
        """The number of the block."""
        return (self.block,)
