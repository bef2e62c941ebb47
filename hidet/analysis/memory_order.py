"""What an operation of the `cuda` level writes, and what is written after a place in a block."""

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeAlias

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue
from xdsl.traits import MemoryEffectKind

from hidet.analysis.memory import root_of
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.instructions import Collective, ShflOp
from hidet.dialects.cuda.tensor_map import TensorMapType
from hidet.dialects.cuda.views import DynamicSharedOp
from hidet.dialects.effects import accessed, effects_of


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
    is_global = isinstance(array.type, TensorMapType) or space_of(array.type) is Space.GLOBAL
    return Everything.GLOBAL if is_global else array


def _is_local(memory: Memory) -> bool:
    return isinstance(memory, SSAValue) and space_of(memory.type) is Space.LOCAL


def writes_of(op: Operation) -> set[Memory]:
    """Return what an operation writes by itself, without the operations inside it."""
    convergent = {Everything.CONVERGENT} if op.has_trait(Collective) else set[Memory]()
    effects = effects_of(op)
    if effects is None:
        return {Everything.ANY, *convergent}
    written = accessed(effects, MemoryEffectKind.WRITE)
    return {*(Everything.OTHERS if w is None else memory_of(w) for w in written), *convergent}


def reads_of_expression(op: Operation) -> set[Memory]:
    """Return the memory that a value is read from; CONVERGENT if threads meet to compute it."""
    if isinstance(op, ShflOp):
        return {Everything.CONVERGENT}
    loads = (inner for inner in op.walk() if isinstance(inner, memref.LoadOp))
    return {memory_of(load.memref) for load in loads}


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
