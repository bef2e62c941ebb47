"""Which memory an operation reads and writes, and which memrefs may share memory."""

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
    """What an operation reads and writes: memrefs, or views and sinks of the compute dialect."""

    reads: tuple[SSAValue, ...] = ()
    writes: tuple[SSAValue, ...] = ()


def is_arithmetic(op: Operation) -> bool:
    """Return whether an operation computes a value from its operands and does nothing else."""
    return op.dialect_name() in ARITHMETIC_DIALECTS or isinstance(op, ScalarOp | FloorModOp)


def accesses_of(op: Operation) -> Accesses | None:
    """Return what an operation accesses by itself, without the operations inside of it.

    None is for one that may access any memory: barriers, which let the writes of other threads
    be seen, waits, which let those of copies be seen, stores to sinks, whose bodies store
    elsewhere, and operations that are not known here.
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
    """Return whether two memrefs may share memory.

    Allocations are apart from all else. So are the arguments of a kernel: the runtime never gives
    a kernel an output that overlaps its inputs (the printer declares them `__restrict__`). Only
    those of a kernel that is marked `cuda.may_alias` are not.
    """
    if _space(one) is not None and _space(other) is not None and _space(one) is not _space(other):
        return False
    one, other = root_of(one), root_of(other)
    return one is other or not (_is_apart(one) and _is_apart(other))


def _space(value: SSAValue) -> Space | None:
    return space_of(memref_type(value)) if isinstance(value.type, MemRefType) else None


def root_of(value: SSAValue) -> SSAValue:
    """Return the memref that a memref is a view of, or itself."""
    while (
        isinstance(value.owner, Operation)
        and value.owner.operands
        and isinstance(value.owner.operands[0].type, MemRefType)
    ):
        value = value.owner.operands[0]
    return value


def _is_apart(value: SSAValue) -> bool:
    """Return whether a root is known to share no memory with any other."""
    if isinstance(value, BlockArgument):
        kernel = value.block.parent_op()
        return isinstance(kernel, KernelOp) and MAY_ALIAS not in kernel.attributes
    return isinstance(value.owner, memref.AllocaOp | memref.AllocOp)
