"""What an operation of the `cuda` level writes, and what is written after a place in a block."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeAlias

from xdsl.dialects import memref, scf
from xdsl.ir import Operation, SSAValue
from xdsl.traits import is_side_effect_free

from hidet.analysis.memory import is_arithmetic, root_of
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.dynamic_shared import DynamicSharedOp
from hidet.dialects.cuda.faults import FaultCheckOp
from hidet.dialects.cuda.instructions import (
    Collective,
    CopyVectorOp,
    ShflOp,
    SyncThreadsOp,
    SyncWarpOp,
)
from hidet.dialects.cuda.table_ops import InstructionOp


class Everything(Enum):
    """Memory that is not one array."""

    GLOBAL = auto()
    """All of global memory: the arguments of a kernel are not told apart."""
    PLACED = auto()
    """All shared memory whose size the launch states: its parts may overlap."""
    OTHERS = auto()
    """What others write, seen after a barrier or a wait: global and shared memory."""
    ANY = auto()
    """Of an operation that is not known: all memory."""
    CONVERGENT = auto()
    """No memory: that threads meet; a convergent operation must not be moved over another."""


Memory: TypeAlias = SSAValue | Everything
"""A shared or local array, which no other name refers to, or more."""


def memory_of(array: SSAValue) -> Memory:
    """Return the memory that a memref stands for, or that it is a view of."""
    array = root_of(array)
    if isinstance(array.owner, DynamicSharedOp):
        return Everything.PLACED
    return Everything.GLOBAL if space_of(array.type) is Space.GLOBAL else array


def _is_local(memory: Memory) -> bool:
    return isinstance(memory, SSAValue) and space_of(memory.type) is Space.LOCAL


def writes_of(op: Operation) -> set[Memory]:
    """Return what an operation writes by itself, without the operations inside it."""
    match op:
        case memref.StoreOp():
            return {memory_of(op.memref)}
        case CopyVectorOp():
            return {memory_of(op.target)}
        case SyncThreadsOp() | SyncWarpOp():
            return {Everything.OTHERS, Everything.CONVERGENT}
        case InstructionOp():
            others = {Everything.OTHERS} if op.instruction.orders else set[Memory]()
            convergent = {Everything.CONVERGENT} if op.has_trait(Collective) else set[Memory]()
            return {*map(memory_of, op.writes), *others, *convergent}
        case ShflOp():
            return {Everything.CONVERGENT}
        case memref.LoadOp() | memref.AllocaOp() | FaultCheckOp() | scf.ForOp() | scf.IfOp():
            return set()
        case _ if is_arithmetic(op) or is_side_effect_free(op):
            return set()
        case _ if op.has_trait(Collective):
            return {Everything.ANY, Everything.CONVERGENT}
        case _:
            return {Everything.ANY}


@dataclass
class WritesAfter:
    """Where memory is written next, while a block is walked backwards."""

    next: dict[Memory, int] = field(default_factory=dict[Memory, int])

    def add(self, memories: set[Memory], position: int) -> None:
        """Note what the operation at a position writes; it comes before all noted ones."""
        for memory in memories:
            self.next[memory] = position

    def is_written_before(self, memory: Memory, position: int) -> bool:
        """Return whether a memory may be written between here and a later position."""
        others: list[Memory] = [memory, Everything.ANY]
        if memory is not Everything.CONVERGENT and not _is_local(memory):
            others.append(Everything.OTHERS)
        return any(self.next.get(other, position) < position for other in others)
