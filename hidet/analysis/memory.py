"""Memory accesses of operations, aliasing of memrefs, and the order of writes in a block."""

from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache
from typing import NamedTuple, TypeAlias

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import MemoryEffectKind

from hidet.dialects.cuda import KernelOp
from hidet.dialects.cuda.arithmetic import FloorModOp, ScalarOp
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.instructions import Collective, ShflOp
from hidet.dialects.cuda.marks import MAY_ALIAS
from hidet.dialects.cuda.tensor_map import TensorMapType
from hidet.dialects.cuda.views import DynamicSharedOp
from hidet.dialects.effects import ARITHMETIC_DIALECTS, accessed, effects_of, has_trait
from hidet.dialects.walking import ops_of_class

READ, WRITE = MemoryEffectKind.READ, MemoryEffectKind.WRITE


class Accesses(NamedTuple):
    """The memrefs, views and sinks that an operation reads and writes."""

    reads: tuple[SSAValue, ...] = ()
    writes: tuple[SSAValue, ...] = ()


_NO_ACCESS = Accesses()


def is_arithmetic(op: Operation) -> bool:
    """Return whether an operation is pure arithmetic."""
    return is_arithmetic_class(type(op))


@cache
def is_arithmetic_class(kind: type[Operation]) -> bool:
    """Return whether the operations of a class are pure arithmetic."""
    return kind.dialect_name() in ARITHMETIC_DIALECTS or issubclass(kind, (ScalarOp, FloorModOp))


def accesses_of(op: Operation) -> Accesses | None:
    """Return the accesses of an operation, without those of nested operations.

    None means that it may access any memory: barriers, which make the writes of other threads
    visible, waits, which make those of copies visible, stores to sinks, whose bodies store
    elsewhere, and unknown operations.
    """
    effects = effects_of(op)
    if effects is None:
        return None
    if not effects:
        return _NO_ACCESS
    found = accessed(effects, READ), accessed(effects, WRITE)
    if any(value is None for values in found for value in values):
        return None
    return Accesses(*(tuple(filter(None, values)) for values in found))


def may_alias(one: SSAValue, other: SSAValue) -> bool:
    """Return whether two memrefs may alias.

    Allocations do not alias anything else. Neither do the arguments of a kernel, which the printer
    declares `__restrict__`: the runtime never passes outputs that overlap inputs. Only those of a
    kernel marked `cuda.may_alias` may.
    """
    spaces = {memory_space(one), memory_space(other)}
    if len(spaces) > 1 and None not in spaces:
        return False
    one, other = root_of(one), root_of(other)
    return one is other or not (is_noalias(one) and is_noalias(other))


def memory_space(value: SSAValue) -> Space | None:
    """Return the memory space of a memref, None of other values."""
    return space_of(value.type) if type(value.type) is MemRefType else None


def root_of(value: SSAValue) -> SSAValue:
    """Return the memref underlying a chain of views."""
    while (
        isinstance(value, OpResult)
        and (operands := value.op.operands)
        and type(operands[0].type) is MemRefType
    ):
        value = operands[0]
    return value


def is_noalias(value: SSAValue) -> bool:
    """Return whether a root is known not to alias any other."""
    if isinstance(value, BlockArgument):
        kernel = value.block.parent_op()
        return isinstance(kernel, KernelOp) and MAY_ALIAS not in kernel.attributes
    return isinstance(value.owner, memref.AllocaOp | memref.AllocOp)


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


def writes_of(op: Operation) -> set[Memory]:
    """Return the memory that an operation writes, without that of nested operations."""
    if is_arithmetic(op):
        return set()
    effects = effects_of(op)
    written = [] if effects is None else accessed(effects, WRITE)
    found = {MemoryClass.OTHER_THREADS if w is None else memory_of(w) for w in written}
    if effects is None:
        found.add(MemoryClass.ANY)
    if has_trait(type(op), Collective):
        found.add(MemoryClass.CONVERGENT)
    return found


def reads_of_expression(op: Operation) -> set[Memory]:
    """Return the memory that an expression loads from; CONVERGENT for a shuffle."""
    if isinstance(op, ShflOp):
        return {MemoryClass.CONVERGENT}
    return {memory_of(load.memref) for load in ops_of_class(op, memref.LoadOp)}


@dataclass
class WritesAfter:
    """The next write to each memory, in a backward walk over a block."""

    next: dict[Memory, int] = field(default_factory=dict[Memory, int])

    def add(self, memories: set[Memory], position: int) -> None:
        """Record the writes of the operation at a position, which precedes all recorded ones."""
        self.next |= dict.fromkeys(memories, position)

    def is_written_before(self, memory: Memory, position: int) -> bool:
        """Return whether a memory may be written between here and a later position."""
        aliases: list[Memory] = [memory, MemoryClass.ANY]
        is_local = isinstance(memory, SSAValue) and space_of(memory.type) is Space.LOCAL
        if memory is not MemoryClass.CONVERGENT and not is_local:
            aliases.append(MemoryClass.OTHER_THREADS)
        return any(self.next.get(alias, position) < position for alias in aliases)
