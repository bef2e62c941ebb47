"""Memory effects of ops per value: the interface that all passes use."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple, TypeAlias

from xdsl.dialects import memref
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.irdl import traits_def
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
    MemoryReadEffect,
    MemoryWriteEffect,
    OpTrait,
    Pure,
    RecursiveMemoryEffect,
    Resource,
    get_effects,
)

from hidet.dialects.fields import Element, FieldsOp

Effects: TypeAlias = tuple[EffectInstance, ...]
"""The effects of an op; without a value, they are on unknown memory."""


@dataclass(frozen=True)
class MachineState(Resource):
    """State other than memory: commit groups, barriers, output. No access depends on it."""

    def name(self) -> str:
        """Return the name of the resource."""
        return "machine state"


def read(value: SSAValue | None = None) -> EffectInstance:
    """Return a read effect on a memref, or on any memory."""
    return EffectInstance(MemoryEffectKind.READ, value)


def write(value: SSAValue | None = None) -> EffectInstance:
    """Return a write effect on a memref, or on any memory."""
    return EffectInstance(MemoryEffectKind.WRITE, value)


ANY_MEMORY: Effects = (read(), write())
"""The effects of an op that may access any memory."""

MACHINE: Effects = (EffectInstance(MemoryEffectKind.WRITE, None, MachineState()),)
"""A side effect that is no memory access."""


class MachineEffect(MemoryEffect):
    """The op has a side effect, but accesses no memory."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        """Return the effect on the machine state."""
        return set(MACHINE)


class OwnEffects(MemoryEffect):
    """The op defines its own effects."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        """Return the effects of the op."""
        assert isinstance(op, AccessingOp)
        return set(op.effects)


class PureOp(FieldsOp):
    """An op without effects."""

    traits = traits_def(Pure())


class MachineOp(FieldsOp):
    """An op with a side effect that is no memory access."""

    traits = traits_def(MachineEffect())


class AnyMemoryOp(FieldsOp):
    """An op that may access any memory."""

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())


class AccessingOp(FieldsOp):
    """An op that defines its effects per value."""

    traits = traits_def(OwnEffects())

    @property
    @abstractmethod
    def effects(self) -> Effects:
        """The effects of the op itself."""

    def access_of(self, name: str) -> tuple[bool, bool]:
        """Return whether a memref field is read, and whether it is written."""
        value = getattr(self, name)
        return read(value) in self.effects, write(value) in self.effects


class FieldAccessOp(AccessingOp):
    """An op that always reads and writes the same fields."""

    READS: ClassVar[tuple[str, ...]] = ()
    WRITES: ClassVar[tuple[str, ...]] = ()

    @property
    def effects(self) -> Effects:
        """Reads and writes of the fields."""
        reads = [read(getattr(self, name)) for name in self.READS]
        return (*reads, *(write(getattr(self, name)) for name in self.WRITES))

    def access_of(self, name: str) -> tuple[bool, bool]:
        """Return whether a field is read, and whether it is written."""
        return name in self.READS, name in self.WRITES


class ElementAccess(NamedTuple):
    """An access to an element of a memref or view."""

    element: Element
    reads: bool
    writes: bool


def element_accesses(op: Operation) -> Iterator[ElementAccess]:
    """Yield the elements that an op accesses, the first of each access."""
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


def redirect_accesses(
    op: Operation,
    old: SSAValue,
    new: SSAValue,
    place: Callable[[Sequence[SSAValue]], Sequence[SSAValue]],
) -> bool:
    """Replace a memref in all accesses of an op; return whether the op is known to access memrefs.

    `place` returns the indices in the new memref of an element of the old one.
    """
    match op:
        case memref.LoadOp():
            op.operands = [new, *place(op.indices)]
        case memref.StoreOp():
            op.operands = [op.value, new, *place(op.indices)]
        case FieldsOp() if op.element_fields():
            for name in op.element_fields():
                if (element := op.element(name)).memref is old:
                    op.move(name, Element(new, place(element.indices)))
        case _:
            return False
    return True


@cache
def has_trait(kind: type[Operation], trait: type[OpTrait], unregistered: bool = True) -> bool:
    """Return whether the ops of a class have a trait; `unregistered` is the answer for others."""
    return kind.has_trait(trait, value_if_unregistered=unregistered)


ARITHMETIC_DIALECTS = frozenset({"arith", "math"})
"""Dialects whose ops are all pure."""


def effects_of(op: Operation) -> Collection[EffectInstance] | None:
    """Return the effects of an op, without those of nested ops; None if unknown."""
    return _effects_rule(type(op))(op)


_EffectsRule: TypeAlias = Callable[[Any], Collection[EffectInstance] | None]


@cache
def _effects_rule(kind: type[Operation]) -> _EffectsRule:
    """Return the function that returns the effects of the ops of a class."""
    if issubclass(kind, memref.LoadOp):
        return lambda op: (read(op.memref),)
    if issubclass(kind, memref.StoreOp):
        return lambda op: (write(op.memref),)
    if issubclass(kind, AccessingOp):
        return lambda op: op.effects
    # By dialect, since some ops of arith lack traits (remui, extsi).
    if kind.dialect_name() in ARITHMETIC_DIALECTS:
        return lambda _: ()
    if has_trait(kind, RecursiveMemoryEffect, False):
        return lambda _: ()
    return get_effects


def accessed(effects: Iterable[EffectInstance], kind: MemoryEffectKind) -> list[SSAValue | None]:
    """Return the memory of effects of a kind; None is unknown memory."""
    return [
        effect.value if isinstance(effect.value, (OpResult, BlockArgument)) else None
        for effect in effects
        if effect.kind is kind and type(effect.resource) is not MachineState
    ]


def reads_of(op: Operation) -> list[SSAValue]:
    """Return the known memrefs that an op itself reads."""
    return list(filter(None, accessed(effects_of(op) or (), MemoryEffectKind.READ)))


def writes_of(op: Operation) -> list[SSAValue]:
    """Return the known memrefs that an op itself writes."""
    return list(filter(None, accessed(effects_of(op) or (), MemoryEffectKind.WRITE)))
