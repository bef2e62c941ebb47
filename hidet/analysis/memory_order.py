"""The memory that ops of the `cuda` dialect write, and the order of writes in a block."""

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


class MemoryClass(Enum):
    """A class of memory that is not a single array."""

    GLOBAL = auto()
    """All of global memory: kernel arguments are not distinguished."""
    DYNAMIC_SHARED = auto()
    """All dynamic shared memory: its arrays may overlap."""
    OTHER_THREADS = auto()
    """Global and shared memory written by other threads, visible after a barrier or a wait."""
    ANY = auto()
    """All memory, for unknown operations."""
    CONVERGENT = auto()
    """No memory: a convergent operation must not be reordered with another one."""


Memory: TypeAlias = SSAValue | MemoryClass
"""A shared or local array without aliases, or a class of memory."""


def memory_of(array: SSAValue) -> Memory:
    """Return the memory of a memref."""
    array = root_of(array)
    if isinstance(array.owner, DynamicSharedOp):
        return MemoryClass.DYNAMIC_SHARED
    is_global = isinstance(array.type, TensorMapType) or space_of(array.type) is Space.GLOBAL
    return MemoryClass.GLOBAL if is_global else array


def _is_local(memory: Memory) -> bool:
    return isinstance(memory, SSAValue) and space_of(memory.type) is Space.LOCAL


def writes_of(op: Operation) -> set[Memory]:
    """Return the memory that an operation writes, without that of nested operations."""
    convergent = {MemoryClass.CONVERGENT} if op.has_trait(Collective) else set[Memory]()
    effects = effects_of(op)
    if effects is None:
        return {MemoryClass.ANY, *convergent}
    written = accessed(effects, MemoryEffectKind.WRITE)
    return {
        *(MemoryClass.OTHER_THREADS if w is None else memory_of(w) for w in written),
        *convergent,
    }


def reads_of_expression(op: Operation) -> set[Memory]:
    """Return the memory that an expression loads from; CONVERGENT for a shuffle."""
    if isinstance(op, ShflOp):
        return {MemoryClass.CONVERGENT}
    loads = (inner for inner in op.walk() if isinstance(inner, memref.LoadOp))
    return {memory_of(load.memref) for load in loads}


@dataclass
class WritesAfter:
    """The next write to each memory, in a backward walk over a block."""

    next: dict[Memory, int] = field(default_factory=dict[Memory, int])

    def add(self, memories: set[Memory], position: int) -> None:
        """Record the writes of the operation at a position, which precedes all recorded ones."""
        for memory in memories:
            self.next[memory] = position

    def is_written_before(self, memory: Memory, position: int) -> bool:
        """Return whether a memory may be written between here and a later position."""
        aliases: list[Memory] = [memory, MemoryClass.ANY]
        if memory is not MemoryClass.CONVERGENT and not _is_local(memory):
            aliases.append(MemoryClass.OTHER_THREADS)
        return any(self.next.get(alias, position) < position for alias in aliases)
