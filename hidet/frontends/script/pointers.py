"""Pointer casts: `void_p`, null and comparisons, reinterpreted memory."""

from dataclasses import replace
from typing import NoReturn

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.views import AddressOfOp, ViewOp
from hidet.dialects.shaped import memref_type
from hidet.errors import ScriptError
from hidet.frontends.script.messages import Value, describe
from hidet.frontends.script.scalars import Index, Scalar, binary, constant
from hidet.frontends.script.tensors import Pointer, element_at, first_address
from hidet.frontends.script.tracing import insert
from hidet.frontends.script.types import U8, U64, ElementType, PointerType, ScalarType
from hidet.frontends.script.variables import mark_sign
from hidet.rewriting.builder import align


class VoidPointer(Value):
    """A pointer `void_p`, which is cast to a typed pointer."""

    def __init__(self, address: Pointer | SSAValue) -> None:
        self._address = address

    @property
    def element(self) -> ScalarType | None:
        """The element type of the first cast, None before it."""
        return self._address.element if isinstance(self._address, Pointer) else None

    def of(self, dtype: ElementType) -> Pointer:
        """Return the pointer cast to an element type."""
        if not isinstance(self._address, Pointer):
            kind = MemRefType(dtype.element.ir, [DYNAMIC_INDEX])
            memory = Rewriter.replace_value_with_new_type(self._address, kind)
            self._address = Pointer(memory, dtype.element, (0,))
        return retyped(self._address, dtype)

    def __add__(self, offset: Index) -> "VoidPointer":
        return VoidPointer(self.of(U8) + offset)

    __radd__ = __add__

    def __getitem__(self, index: object) -> NoReturn:
        raise ScriptError(
            "a pointer void_p has no elements", hint="cast it to a type: cast(p, ~f32)"
        )

    def __repr__(self) -> str:
        return "a pointer void_p"


class NullPointer(Value):
    """The null pointer, `void_p(0)`; equal to None."""

    def __repr__(self) -> str:
        return "a null pointer"


NULL = NullPointer()


def cast_pointer(value: object, kind: PointerType) -> Pointer | VoidPointer | NullPointer:
    """Cast a value to a pointer type, as C does."""
    address = first_address(value)
    if is_null(value):
        return NULL
    if isinstance(address, VoidPointer):
        return address if kind.is_void else address.of(kind.dtype)
    if not isinstance(address, Pointer):
        raise ScriptError(
            f"{describe(value)} cannot become a pointer {kind}",
            hint="the address of an element is ~x[i]; 0 is the null pointer",
        )
    return VoidPointer(address) if kind.is_void else retyped(address, kind.dtype)


def retyped(pointer: Pointer, dtype: ElementType) -> Pointer:
    """Return a pointer to the same address with another element type."""
    kind, element = memref_type(pointer.memory), dtype.element
    if space_of(kind) is Space.REGISTER:
        raise ScriptError(
            f"{describe(pointer)} points into a tensor that is distributed over threads",
            hint="use a tensor per thread: register_tensor('f32', [n])",
        )
    align(pointer.memory, min(dtype.nbytes, 16))
    if kind.get_num_dims() == 1 and kind.element_type == element.ir:
        return replace(pointer, dtype=dtype)
    target = MemRefType(element.ir, [DYNAMIC_INDEX], NoneAttr(), kind.memory_space)
    view = insert(ViewOp(element_at(pointer), target))
    return Pointer(mark_sign(view.result, element), dtype, (0,))


def is_null(value: object) -> bool:
    """Return whether a Python value is a null pointer; 0 and None are."""
    return value is None or value is NULL or (type(value) is int and value == 0)


def address_number(value: object) -> Scalar:
    """Return an address as a u64."""
    value = first_address(value)
    if isinstance(value, VoidPointer):
        value = value.of(value.element or U64)
    if is_null(value):
        return constant(0, U64)
    if not isinstance(value, Pointer):
        raise ScriptError(f"{describe(value)} has no address", hint="an element has: ~x[i]")
    op = insert(AddressOfOp(element_at(value)))
    return Scalar(op.result, U64)


def are_equal(one: object, other: object) -> object:
    """Compare two pointers; return None if neither is a pointer of the kernel."""
    pointers = [each for each in (one, other) if isinstance(each, Pointer | VoidPointer)]
    if not pointers:
        is_about_null = one is NULL or other is NULL
        return is_null(one) and is_null(other) if is_about_null else None
    left, right = address_number(one), address_number(other)
    return binary("==", left, right)
