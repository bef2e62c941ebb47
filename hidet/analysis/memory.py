"""Memory accesses of operations, and aliasing of memrefs."""

from typing import NamedTuple

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.traits import MemoryEffectKind

from hidet.dialects.cuda import KernelOp
from hidet.dialects.cuda.arithmetic import FloorModOp, ScalarOp
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.marks import MAY_ALIAS
from hidet.dialects.effects import ARITHMETIC_DIALECTS, MachineState, effects_of
from hidet.dialects.shaped import memref_type

READ, WRITE = MemoryEffectKind.READ, MemoryEffectKind.WRITE


class Accesses(NamedTuple):
    """The memrefs, views and sinks that an operation reads and writes."""

    reads: tuple[SSAValue, ...] = ()
    writes: tuple[SSAValue, ...] = ()


def is_arithmetic(op: Operation) -> bool:
    """Return whether an operation is pure arithmetic."""
    return op.dialect_name() in ARITHMETIC_DIALECTS or isinstance(op, ScalarOp | FloorModOp)


def accesses_of(op: Operation) -> Accesses | None:
    """Return the accesses of an operation, without those of nested operations.

    None means that it may access any memory: barriers, which make the writes of other threads
    visible, waits, which make those of copies visible, stores to sinks, whose bodies store
    elsewhere, and unknown operations.
    """
    effects = effects_of(op)
    if effects is None:
        return None
    found: dict[MemoryEffectKind, list[SSAValue]] = {READ: [], WRITE: []}
    for effect in effects:
        if effect.kind in found and not isinstance(effect.resource, MachineState):
            if not isinstance(effect.value, SSAValue):
                return None
            found[effect.kind].append(effect.value)
    return Accesses(tuple(found[READ]), tuple(found[WRITE]))


def may_alias(one: SSAValue, other: SSAValue) -> bool:
    """Return whether two memrefs may alias.

    Allocations do not alias anything else. Neither do the arguments of a kernel, which the printer
    declares `__restrict__`: the runtime never passes outputs that overlap inputs. Only those of a
    kernel marked `cuda.may_alias` may.
    """
    if _space(one) is not None and _space(other) is not None and _space(one) is not _space(other):
        return False
    one, other = root_of(one), root_of(other)
    return one is other or not (_is_noalias(one) and _is_noalias(other))


def _space(value: SSAValue) -> Space | None:
    return space_of(memref_type(value)) if isinstance(value.type, MemRefType) else None


def root_of(value: SSAValue) -> SSAValue:
    """Return the memref underlying a chain of views."""
    while (
        isinstance(value.owner, Operation)
        and value.owner.operands
        and isinstance(value.owner.operands[0].type, MemRefType)
    ):
        value = value.owner.operands[0]
    return value


def _is_noalias(value: SSAValue) -> bool:
    """Return whether a root is known not to alias any other."""
    if isinstance(value, BlockArgument):
        kernel = value.block.parent_op()
        return isinstance(kernel, KernelOp) and MAY_ALIAS not in kernel.attributes
    return isinstance(value.owner, memref.AllocaOp | memref.AllocOp)
