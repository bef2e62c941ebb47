"""Arguments of functions that scripts call: checked, and as the parameters take them."""

from __future__ import annotations

from hidet.dialects.shaped import memref_type
from hidet.errors import ScriptError
from hidet.frontends.script.emitter import Emitter
from hidet.frontends.script.memory import part_of, tensor_of
from hidet.frontends.script.parameters import TypeList
from hidet.frontends.script.pointers import NULL, NullPointer, retyped
from hidet.frontends.script.tensor_maps import TensorMap, TensorMapType
from hidet.frontends.script.types import (
    BOOL,
    PointerType,
    ScalarType,
    TensorType,
    VectorType,
    is_of_python,
    scalar_type,
)
from hidet.frontends.script.values import Pointer, Scalar, Tensor, VoidPointer, describe, is_number
from hidet.frontends.script.vectors import Vector


def passed(
    emitter: Emitter, what: str, kind: object, value: object, *, is_launch: bool, is_changed: bool
) -> object:
    """Return an argument as its parameter takes it.

    Args:
        emitter: writes the IR.
        what: the parameter, as in messages.
        kind: its type, None where it takes everything.
        value: the argument.
        is_launch: whether a kernel is launched, which keeps nothing but memory and numbers.
        is_changed: whether the function assigns to the parameter.

    Raises:
        ScriptError: the parameter does not take it.
    """
    taken: object = value
    match kind:
        case _ if kind is None or is_of_python(kind):
            return value
        case TypeList():
            return tuple(
                passed(emitter, what, one, each, is_launch=is_launch, is_changed=is_changed)
                for one, each in zip(kind.types, kind.values(what, value), strict=True)
            )
        case TensorType():
            if isinstance(value, Pointer) and not is_launch:
                taken = part_of(value, kind) or value
            is_taken = isinstance(taken, Tensor) and _fits(taken, kind, is_launch)
        case TensorMapType():
            is_taken = isinstance(value, TensorMap) and value.type == kind
        case PointerType(is_void=True) if not is_launch:
            taken = NULL if value is None else value
            is_taken = isinstance(taken, Tensor | Pointer | VoidPointer | NullPointer)
        case PointerType():
            taken = _pointer(kind, value, is_launch)
            is_taken = (isinstance(taken, NullPointer) and not is_launch) or (
                isinstance(taken, Pointer)
                and (kind.is_void or (taken.element, taken.lanes) == (kind.element, kind.lanes))
            )
        case VectorType():
            is_taken = isinstance(value, Vector) and value.type == kind
        case _:
            kind = scalar_type(kind)
            is_taken = isinstance(value, Scalar) or is_number(value)
    if not is_taken:
        raise ScriptError(f"{what} is {kind}, and got {describe(value)}")
    if not isinstance(kind, ScalarType):
        return taken
    return number_as(emitter, value, kind, is_changed=is_launch or is_changed)


def number_as(emitter: Emitter, value: object, kind: ScalarType, *, is_changed: bool) -> object:
    """Return a number in a type.

    A whole number, or a truth value, that nothing changes stays one of Python: what it decides is
    decided when the script is defined.
    """
    if isinstance(value, int) and not is_changed:
        if kind is BOOL:
            return bool(value)
        if kind.is_integer and kind.limits[0] <= value <= kind.limits[1]:
            return int(value)
    return emitter.cast(emitter.scalar_of(value, kind), kind)


def _fits(value: Tensor, kind: TensorType, is_launch: bool) -> bool:
    """Return whether a tensor is of a type; where memory is handed on, with its layout."""
    if (value.element, value.lanes, value.shape) != (kind.element, kind.lanes, kind.shape):
        return False
    if value.part is not None:
        return not is_launch
    taken = tensor_of(value.memory, kind)
    return not is_launch or (value.layout, value.swizzle) == (taken.layout, taken.swizzle)


def _pointer(kind: PointerType, value: object, is_launch: bool) -> object:
    """Return the pointer that is meant by a pointer, or by a tensor that has all of its memory."""
    if value is None and not is_launch:
        return NULL
    if isinstance(value, VoidPointer):
        return value.of(value.element or kind.element, kind.lanes)
    if isinstance(value, Pointer) and not is_launch and len(value.indices) > 1:
        return retyped(value, value.element, value.lanes)
    if not isinstance(value, Tensor):
        return value
    if is_launch and value.layout is None and value.start is None and value.part is None:
        indices = (0,) * len(memref_type(value.memory).get_shape())
        return Pointer(value.memory, value.element, indices, value.lanes)
    return value.pointer or value
