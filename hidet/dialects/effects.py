"""What operations do to memory, value by value: the interface that all passes ask."""

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Set
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
    RecursiveMemoryEffect,
    Resource,
    get_effects,
)

from hidet.dialects.fields import Element, FieldsOp

Effects = Set[EffectInstance]
"""What an operation reads and writes; without a value it is memory that nobody can name."""


@dataclass(frozen=True)
class MachineState(Resource):
    """What is no memory: groups of copies, barriers, output. No access depends on it."""

    def name(self) -> str:
        """Return how the resource is called."""
        return "machine state"


def read(value: SSAValue | None = None) -> EffectInstance:
    """Return the effect of reading a memref; of any memory without one."""
    return EffectInstance(MemoryEffectKind.READ, value)


def write(value: SSAValue | None = None) -> EffectInstance:
    """Return the effect of writing a memref; any memory without one."""
    return EffectInstance(MemoryEffectKind.WRITE, value)


ANY_MEMORY: Effects = frozenset({read(), write()})
"""The effects of what may access everything."""

MACHINE: Effects = frozenset({EffectInstance(MemoryEffectKind.WRITE, None, MachineState())})
"""The effect of what does something that is no access to memory."""


class MachineEffect(MemoryEffect):
    """The operation must stay where it is, and accesses no memory that others access."""

    @classmethod
    def get_effects(cls, op: Operation) -> Effects:
        """Return the effect on the state of the machine."""
        return MACHINE


class OwnEffects(MemoryEffect):
    """The operation itself says what its effects are."""

    @classmethod
    def get_effects(cls, op: Operation) -> Effects:
        """Return what the operation says."""
        assert isinstance(op, AccessingOp)
        return op.effects


class AccessingOp(FieldsOp):
    """An operation that tells its effects, value by value; it has the trait `OwnEffects`."""

    @property
    @abstractmethod
    def effects(self) -> Effects:
        """What the operation reads and writes by itself."""

    def access_of(self, name: str) -> tuple[bool, bool]:
        """Return whether a memref is read and whether it is written, by the name of its field."""
        value = getattr(self, name)
        return read(value) in self.effects, write(value) in self.effects


class FieldAccessOp(AccessingOp):
    """An operation that always reads and writes the same ones of its fields."""

    READS: ClassVar[tuple[str, ...]] = ()
    WRITES: ClassVar[tuple[str, ...]] = ()

    @property
    def effects(self) -> Effects:
        """Reads and writes of the fields."""
        reads = {read(getattr(self, name)) for name in self.READS}
        return reads | {write(getattr(self, name)) for name in self.WRITES}

    def access_of(self, name: str) -> tuple[bool, bool]:
        """Return whether the class says that a field is read, and that it is written."""
        return name in self.READS, name in self.WRITES


class ElementAccess(NamedTuple):
    """An element of a memref, or of a view, at which an operation reads, writes or both."""

    element: Element
    reads: bool
    writes: bool


def element_accesses(op: Operation) -> Iterator[ElementAccess]:
    """Give the elements that an operation accesses by itself, the first one of several."""
    match op:
        case memref.LoadOp():
            yield ElementAccess(Element(op.memref, op.indices), True, False)
        case memref.StoreOp():
            yield ElementAccess(Element(op.memref, op.indices), False, True)
        case AccessingOp():
            for name in op.element_fields():
                reads, writes = op.access_of(name)
                yield ElementAccess(op.element(name), reads, writes)
        case _:
            return


ARITHMETIC_DIALECTS = frozenset({"arith", "math"})
"""Dialects whose operations all compute a value from their operands, and do nothing else."""


def effects_of(op: Operation) -> Collection[EffectInstance] | None:
    """Return what an operation does by itself, without those inside of it; None if nobody knows."""
    match op:
        case memref.LoadOp():
            return (read(op.memref),)
        case memref.StoreOp():
            return (write(op.memref),)
        case AccessingOp():
            return op.effects
        # By dialect and not by trait: some operations of arith have no traits (remui, extsi).
        case _ if op.dialect_name() in ARITHMETIC_DIALECTS:
            return ()
        case _ if op.has_trait(RecursiveMemoryEffect, value_if_unregistered=False):
            return ()
        case _:
            return get_effects(op)


def accessed(effects: Iterable[EffectInstance], kind: MemoryEffectKind) -> list[SSAValue | None]:
    """Return the memory that effects of a kind are on; None is memory that nobody can name."""
    return [
        effect.value if isinstance(effect.value, SSAValue) else None
        for effect in effects
        if effect.kind is kind and not isinstance(effect.resource, MachineState)
    ]


def reads_of(op: Operation) -> list[SSAValue]:
    """Return the memrefs that an operation reads by itself, of those that can be named."""
    found = accessed(effects_of(op) or (), MemoryEffectKind.READ)
    return [value for value in found if value is not None]


def writes_of(op: Operation) -> list[SSAValue]:
    """Return the memrefs that an operation writes by itself, of those that can be named."""
    found = accessed(effects_of(op) or (), MemoryEffectKind.WRITE)
    return [value for value in found if value is not None]
