"""Pointers of scripts: casts between them, null, and comparisons."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr

from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.views import AddressOfOp, ViewOp
from hidet.dialects.fields import Element
from hidet.dialects.shaped import memref_type
from hidet.errors import ScriptError
from hidet.frontends.script.emitter import Emitter
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import U64, PointerType, ScalarType
from hidet.frontends.script.values import Pointer, Scalar, Tensor, VoidPointer, describe
from hidet.frontends.script.variables import marked
from hidet.frontends.script.vector_memory import align


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
    address = value
    if isinstance(value, Tensor):
        address = current("cast").address(value, [0] * len(value.shape))
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
    indices = [emitter.index_of(index) for index in pointer.indices]
    view = emitter.insert(ViewOp(Element(pointer.memory, indices), target))
    return Pointer(marked(view.result, element), element, (0,), lanes)


def is_null(value: object) -> bool:
    """Return whether a value of Python is the pointer to nothing: 0 and None are it, too."""
    return value is None or value is NULL or (type(value) is int and value == 0)


def address_number(emitter: Emitter, value: object) -> Scalar:
    """Return an address as a number of type u64.

    Raises:
        ScriptError: the value has none.
    """
    if isinstance(value, Tensor):
        value = emitter.address(value, [0] * len(value.shape))
    if isinstance(value, VoidPointer):
        value = value.of(value.element or U64)
    if is_null(value):
        return emitter.constant(0, U64)
    if not isinstance(value, Pointer):
        raise ScriptError(f"{describe(value)} has no address", hint="an element has: ~x[i]")
    indices = [emitter.index_of(index) for index in value.indices]
    op = emitter.insert(AddressOfOp(Element(value.memory, indices)))
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
