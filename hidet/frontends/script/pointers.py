"""Pointers of scripts: casts, null and comparisons, and memory seen as another type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr

from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.table_ops import known_index
from hidet.dialects.cuda.views import AddressOfOp, ViewOp
from hidet.dialects.shaped import memref_type
from hidet.errors import ScriptError
from hidet.frontends.script.emitter import Emitter
from hidet.frontends.script.loads_and_stores import align
from hidet.frontends.script.memory import part_of
from hidet.frontends.script.operands import element_at, first_of
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import U64, PointerType, ScalarType, TensorType
from hidet.frontends.script.values import Pointer, Scalar, Tensor, VoidPointer, describe
from hidet.frontends.script.variables import marked


class NullPointer:
    """The pointer to nothing, `void_p(0)`; the same as None."""

    def __repr__(self) -> str:
        return "a null pointer"


NULL = NullPointer()
"""The only one."""


def cast_pointer(value: object, kind: PointerType) -> Pointer | VoidPointer | NullPointer:
    """Return what a pointer points to as a pointer of another type, as a cast of C does.

    Raises:
        ScriptError: the value is no pointer, and not 0.
    """
    address = first_of(current("cast"), value) if isinstance(value, Tensor) else value
    if is_null(value):
        return NULL
    if isinstance(address, VoidPointer):
        return address if kind.is_void else address.of(kind.element, kind.lanes)
    if not isinstance(address, Pointer):
        raise ScriptError(
            f"{describe(value)} cannot become a pointer {kind}",
            hint="the address of an element is ~x[i]; 0 is the pointer to nothing",
        )
    return VoidPointer(address) if kind.is_void else retyped(address, kind.element, kind.lanes)


def retyped(pointer: Pointer, element: ScalarType, lanes: int = 1) -> Pointer:
    """Return a pointer to the same place, to elements of a type, which can be moved.

    Raises:
        ScriptError: it points into a tensor that is spread over threads.
    """
    kind = memref_type(pointer.memory)
    if space_of(kind) is Space.REGISTER:
        raise ScriptError(
            f"{describe(pointer)} points into a tensor that is spread over threads",
            hint="take a tensor that each thread has for itself: register_tensor('f32', [n])",
        )
    align(pointer.memory, min(element.nbytes * lanes, 16))
    if kind.get_num_dims() == 1 and kind.element_type == element.ir:
        return replace(pointer, element=element, lanes=lanes)
    emitter = current("a cast of pointers")
    target = MemRefType(element.ir, [DYNAMIC_INDEX], NoneAttr(), kind.memory_space)
    view = emitter.insert(ViewOp(element_at(emitter, pointer), target))
    return Pointer(marked(view.result, element), element, (0,), lanes)


def is_null(value: object) -> bool:
    """Return whether a value of Python is the pointer to nothing: 0 and None are it, too."""
    return value is None or value is NULL or (type(value) is int and value == 0)


def address_number(emitter: Emitter, value: object) -> Scalar:
    """Return an address as a number of type u64.

    Raises:
        ScriptError: the value has none.
    """
    value = first_of(emitter, value)
    if isinstance(value, VoidPointer):
        value = value.of(value.element or U64)
    if is_null(value):
        return emitter.constant(0, U64)
    if not isinstance(value, Pointer):
        raise ScriptError(f"{describe(value)} has no address", hint="an element has: ~x[i]")
    op = emitter.insert(AddressOfOp(element_at(emitter, value)))
    return Scalar(emitter, op.result, U64)


def are_equal(one: object, other: object) -> object:
    """Return whether two pointers are equal; None where neither is one that a kernel has."""
    pointers = [each for each in (one, other) if isinstance(each, Pointer | VoidPointer)]
    if not pointers:
        is_about_null = one is NULL or other is NULL
        return is_null(one) and is_null(other) if is_about_null else None
    emitter = current("==")
    left, right = address_number(emitter, one), address_number(emitter, other)
    return emitter.binary("==", left, right)


@dataclass(frozen=True)
class Registers:
    """Neighbouring registers of a thread, each of which holds several elements.

    Attributes:
        pointer: the first element.
        type: what they are seen as.
        first: the number of the first register.
    """

    pointer: Pointer
    type: TensorType
    first: int = 0

    def __getitem__(self, number: int) -> Registers:
        if not 0 <= number < prod(self.type.shape):
            raise ScriptError(
                f"{self} has no register {number!r}", hint="registers are numbered from 0 on"
            )
        return replace(self, type=TensorType(self.type.element, (1,)), first=self.first + number)

    def __str__(self) -> str:
        return f"{describe(self.pointer)} seen as {self.type}"

    __repr__ = __str__


def view(value: object, kind: object) -> Tensor | Registers:
    """Return a tensor, or what an address points to, as a tensor of another type.

    Of the same type it is a part of a tensor; of another one the registers that hold its elements,
    as `ldmatrix` takes them: `r = view(regs, u32[4])`, `ldmatrix([r[0], r[1], r[2], r[3]], row)`.

    Args:
        value: the tensor or the address.
        kind: the type, `f32[4, 8]`.

    Raises:
        ScriptError: it cannot be seen so.
    """
    emitter = current("view")
    pointer = first_of(emitter, value)
    if isinstance(pointer, Pointer) and isinstance(kind, TensorType):
        part = part_of(pointer, kind)
        if part is not None:
            return part
        is_wider = kind.element.bits % pointer.element.bits == 0
        if is_wider and space_of(pointer.memory.type) is Space.LOCAL:
            return Registers(pointer, kind)
    raise ScriptError(
        f"{describe(value)} seen as {kind}",
        hint="a part of a tensor that consists of whole rows, or registers as wider ones: u32[4]",
    )


def run_of(emitter: Emitter, values: Sequence[object]) -> tuple[Pointer, int] | None:
    """Return the first element of neighbouring registers, and the number of elements; else None.

    Registers are those of a `view`, or elements of a tensor of 32 bits that have been named.
    """
    places: list[tuple[Pointer, int]] = []
    for value in values:
        if isinstance(value, Registers):
            step = value.type.element.bits // value.pointer.element.bits
            places.append((value.pointer, value.first * step))
        elif isinstance(value, Scalar) and isinstance(load := value.ssa.owner, memref.LoadOp):
            numbers = [known_index(index) for index in load.indices]
            known = [number for number in numbers if number is not None]
            if not known or len(known) < len(numbers):
                return None
            first = Pointer(load.memref, value.type, (*known[:-1], 0))
            places.append((first, known[-1]))
        else:
            return None
    if not places:
        return None
    pointer, start = places[0]
    step = 32 // pointer.element.bits
    for number, (other, place) in enumerate(places):
        if other.memory is not pointer.memory or other.indices != pointer.indices:
            return None
        if place != start + number * step:
            return None
    *outer, last = pointer.indices
    return replace(pointer, indices=(*outer, last + start)), len(places) * step
