"""Script functions that insert one instruction, and operands of instructions."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import SSAValue
from xdsl.irdl import VerificationContext

from hidet.arch.fragments import ends_in
from hidet.arch.instructions import Instruction, Operand
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.table_ops import InstructionOp, room_from
from hidet.dialects.fields import Element, Field, FieldsOp
from hidet.dialects.shaped import memref_type
from hidet.dialects.task.layout import map_of
from hidet.errors import ScriptError
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import Scalar, convert
from hidet.frontends.script.tensors import Pointer, element_at, first_address
from hidet.frontends.script.tracing import insert
from hidet.frontends.script.types import type_of_ir


def instruction(
    name: str, op: type[FieldsOp], *parameters: str, summary: str = "", **fields: Field | range
) -> Callable[..., Any]:
    """Return the script function that inserts an operation and returns its result.

    Each parameter is an operand: an address for an element of memory, as the instruction table
    describes it, else a scalar, which is converted to the operand type. Behind the operands follow
    `fields`: constants, or the range of a compile-time parameter. `summary` is the docstring, by
    default that of the operation.
    """
    numbers = {field: each for field, each in fields.items() if isinstance(each, range)}
    fixed = {field: each for field, each in fields.items() if not isinstance(each, range)}
    given_elsewhere = (*op.element_fields().values(), *fixed)
    operands = [name for name, _ in op.get_irdl_definition().operands]
    names = [*(each for each in operands if each not in given_elsewhere), *numbers]
    plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(each, plain) for each in parameters])

    def function(*arguments: object, **keywords: object) -> Scalar | None:
        try:
            given = signature.bind(*arguments, **keywords).args
        except TypeError as error:
            raise ScriptError(
                f"{name}: {error}", hint=f"it is {name}({', '.join(parameters)})"
            ) from error
        values: dict[str, Field] = {
            field: known_number(f"'{parameter}' of {name}", value, numbers[field])
            if field in numbers
            else _operand(op, field, value)
            for field, parameter, value in zip(names, parameters, given, strict=True)
        }
        results = insert(op(**fixed, **values)).results
        return Scalar(results[0], type_of_ir(results[0].type)) if results else None

    function.__name__ = name
    text = inspect.cleandoc(op.__doc__ or "").partition("`: ")[2]  # without the operation's syntax
    function.__doc__ = summary or text[:1].upper() + text[1:]
    function.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
    return function


def _operand(op: type[FieldsOp], field: str, value: object) -> Element | SSAValue:
    if field in op.element_fields():
        assert issubclass(op, InstructionOp)
        assert isinstance(op.ENTRY, Instruction)
        operand = op.ENTRY.operands[list(op.element_fields()).index(field)]
        return operand_at(op.ENTRY.function, operand, value, 1)
    constraint = dict(op.get_irdl_definition().operands)[field].constr
    (kind,) = constraint.infer(VerificationContext(), length=1)
    return convert(value, type_of_ir(kind)).ssa


_PLACES = {"local": "registers", "shared": "shared memory", "global": "global memory"}


def space_name(pointer: Pointer) -> str:
    """Return the memory space of an address as the instruction tables name it."""
    space = space_of(pointer.memory.type)
    return "local" if space is Space.REGISTER else str(space.value)


def operand_at(function: str, operand: Operand, value: object, count: int) -> Element:
    """Return the first element of an operand: an address, or a whole tensor."""
    what = f"the operand '{operand.name}' of {function}"
    pointer = first_address(value)
    if not isinstance(pointer, Pointer):
        raise ScriptError(
            f"{what} is an address, not {describe(value)}",
            hint="the address of an element is ~x[i, j]; a whole tensor is accepted, too",
        )
    kind, space = memref_type(pointer.memory), space_name(pointer)
    is_tile = space_of(kind) is Space.REGISTER
    if space != operand.space:
        raise ScriptError(
            f"{what} is in {_PLACES[operand.space]}, but {describe(value)} in {_PLACES[space]}"
        )
    if operand.element is not None and str(pointer.element.ir) != operand.element:
        raise ScriptError(f"{what} has elements of {operand.element}, not of {pointer.element}")
    element = element_at(pointer)
    if is_tile and operand.fragment is not None and not ends_in(map_of(kind), operand.fragment):
        raise ScriptError(
            f"{what} is in registers as {operand.fragment}, but {describe(value)} as "
            f"{map_of(kind)}",
            hint="the layout of the tensor is a composition that ends in this map",
        )
    room = None if is_tile else room_from(kind, element.indices)
    if room is not None and room < count:
        raise ScriptError(
            f"{what} is {count} adjacent elements, and {describe(value)} has {room} from there",
            hint="they are consecutive along the last dimension of the tensor",
        )
    return element


def known_number(what: str, value: object, numbers: Sequence[int]) -> int:
    """Return an immediate of an instruction."""
    if isinstance(value, bool) or not isinstance(value, int) or value not in numbers:
        listed = ", ".join(map(str, numbers))
        if isinstance(numbers, range):
            listed = f"{numbers.start}, {numbers.start + numbers.step}, ... {numbers[-1]}"
        raise ScriptError(
            f"{what} is {describe(value)}", hint=f"there is {listed}, at compile time"
        )
    return value
