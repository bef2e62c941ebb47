"""Addresses and tensors of a script as operands of the instruction table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from hidet.arch.fragments import ends_in
from hidet.arch.instructions import Operand
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.table_ops import Element, room_from
from hidet.dialects.shaped import memref_type
from hidet.dialects.task.layout import map_of
from hidet.errors import ScriptError
from hidet.frontends.script.types import I32
from hidet.frontends.script.values import Pointer, Tensor, describe

if TYPE_CHECKING:
    from hidet.frontends.script.emitter import Emitter

_PLACES = {"local": "registers", "shared": "shared memory", "global": "global memory"}


def operand_at(
    emitter: Emitter, function: str, operand: Operand, value: object, count: int
) -> Element:
    """Return the first of the elements that an argument means: an address, or a whole tensor.

    Args:
        emitter: writes the IR.
        function: the name of the function, for messages.
        operand: what the instruction takes.
        value: the argument.
        count: how many elements it is.

    Raises:
        ScriptError: it is neither, lies in another memory, or has other elements or too few.
    """
    what = f"the operand '{operand.name}' of {function}"
    pointer = first_of(emitter, value)
    if not isinstance(pointer, Pointer):
        raise ScriptError(
            f"{what} is an address, not {describe(value)}",
            hint="the address of an element is ~x[i, j]; a whole tensor will do as well",
        )
    kind = memref_type(pointer.memory)
    is_tile = space_of(kind) is Space.REGISTER
    space = "local" if is_tile else str(space_of(kind).value)
    if space != operand.space:
        raise ScriptError(
            f"{what} lies in {_PLACES[operand.space]}, but {describe(value)} in {_PLACES[space]}"
        )
    if operand.element is not None and str(pointer.element.ir) != operand.element:
        raise ScriptError(f"{what} has elements of {operand.element}, not of {pointer.element}")
    element = element_at(emitter, pointer)
    if is_tile and operand.fragment is not None and not ends_in(map_of(kind), operand.fragment):
        raise ScriptError(
            f"{what} lies in registers as {operand.fragment}, but {describe(value)} as "
            f"{map_of(kind)}",
            hint="the layout of the tensor is a product that ends in this map",
        )
    room = None if is_tile else room_from(kind, element.indices)
    if room is not None and room < count:
        raise ScriptError(
            f"{what} is {count} neighbouring elements, and {describe(value)} has {room} from there",
            hint="they lie along the last dimension of the tensor",
        )
    return element


def first_of(emitter: Emitter, value: object) -> object:
    """Return the address of the first element of a tensor; all else is returned as it is."""
    if not isinstance(value, Tensor):
        return value
    return emitter.address(value, [0] * len(value.shape))


def element_at(emitter: Emitter, pointer: Pointer) -> Element:
    """Return the element that a pointer points to, as operations of the IR take it."""
    return Element(pointer.memory, [emitter.index_of(index) for index in pointer.indices])


def i32_operand(emitter: Emitter, value: object) -> SSAValue:
    """Return a number as an operand of 32 bits."""
    return emitter.cast(emitter.scalar_of(value, I32), I32).ssa


def known_number(what: str, value: object, numbers: Sequence[int]) -> int:
    """Return a number that is a part of an instruction.

    Raises:
        ScriptError: it is none of those that there are.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value not in numbers:
        listed = ", ".join(map(str, numbers))
        if isinstance(numbers, range):
            listed = f"{numbers.start}, {numbers.start + numbers.step}, ... {numbers[-1]}"
        raise ScriptError(
            f"{what} is {describe(value)}", hint=f"there is {listed}, known at the definition"
        )
    return value
