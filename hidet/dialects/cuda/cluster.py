"""What blocks of a cluster do together: meet, arrive at each other's barriers, share copies."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, MemRefType, i32
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
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
from hidet.dialects.cuda.tensor_copy import TensorMapType, of_rank


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


@irdl_op_definition
class TmaLoadMulticastOp(InstructionOp):
    """`cuda.tma_load_multicast %map(%x) to %s[%i] barrier %b[%j] blocks %mask`: a box for several.

    The box goes to the same place in each block of the cluster whose bit is set, and its bytes to
    the barrier of that block at the same place.
    """

    name = "cuda.tma_load_multicast"

    map = operand_def(TensorMapType)
    coordinates = var_operand_def(i32)
    target = operand_def(MemRefType)
    target_indices = var_operand_def(IndexType)
    barrier = operand_def(MemRefType)
    barrier_indices = var_operand_def(IndexType)
    blocks = operand_def(i32)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$map `(` $coordinates `)` `to` $target `[` $target_indices `]` `barrier` $barrier "
        "`[` $barrier_indices `]` `blocks` $blocks attr-dict `:` type($target) `,` type($barrier)"
    )
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(
        self,
        map: SSAValue,
        coordinates: Sequence[SSAValue],
        target: Element,
        barrier: Element,
        blocks: SSAValue,
    ) -> None:
        super().__init__(
            operands=[
                *(map, coordinates, target.memref, target.indices),
                *(barrier.memref, barrier.indices, blocks),
            ]
        )

    @property
    def instruction(self) -> Instruction:
        """The entry of the table."""
        return of_rank(hopper.TMA_LOAD_MULTICAST, self.coordinates)

    @property
    def elements(self) -> tuple[Element, ...]:
        """Where the box goes, and the barrier."""
        return (
            Element(self.target, self.target_indices),
            Element(self.barrier, self.barrier_indices),
        )

    @property
    def scalars(self) -> Sequence[SSAValue]:
        """The tensor, the blocks and the coordinates of the box."""
        return (self.map, self.blocks, *self.coordinates)
