"""Functions of scripts that are one instruction: made from the fields of its operation."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue
from xdsl.irdl import VerificationContext

from hidet.arch.instructions import Instruction
from hidet.dialects.cuda.table_ops import InstructionOp
from hidet.dialects.fields import Element, Field, FieldsOp
from hidet.errors import ScriptError
from hidet.frontends.script.operands import operand_at
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import type_of_ir
from hidet.frontends.script.values import Scalar

if TYPE_CHECKING:
    from hidet.frontends.script.emitter import Emitter


def instruction(
    name: str, op: type[FieldsOp], *parameters: str, summary: str = "", **fixed: Field
) -> Callable[..., Any]:
    """Return the function of scripts that inserts an operation, and returns its result.

    Each parameter is one of the operands: an address where that is an element of memory, as the
    table of instructions describes it, and a scalar elsewhere, which is converted to its type.

    Args:
        name: the name of the function.
        op: the operation.
        parameters: the names of the parameters, in the order of the operands.
        summary: what the function does, if its operation does not say it already.
        fixed: the fields that are always the same.
    """
    given_elsewhere = (*op.element_fields().values(), *fixed)
    operands = [name for name, _ in op.get_irdl_definition().operands]
    names = [operand for operand in operands if operand not in given_elsewhere]
    plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(each, plain) for each in parameters])

    def function(*arguments: object, **keywords: object) -> Scalar | None:
        emitter = current(name)
        try:
            given = signature.bind(*arguments, **keywords).args
        except TypeError as error:
            raise ScriptError(
                f"{name}: {error}", hint=f"it is {name}({', '.join(parameters)})"
            ) from error
        values = {
            field: _operand(emitter, op, field, value)
            for field, value in zip(names, given, strict=True)
        }
        results = emitter.insert(op(**fixed, **values)).results
        return Scalar(emitter, results[0], type_of_ir(results[0].type)) if results else None

    function.__name__ = name
    function.__doc__ = summary or _summary(op)
    function.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
    return function


def _operand(emitter: Emitter, op: type[FieldsOp], field: str, value: object) -> Element | SSAValue:
    """Return an argument as an operand of an operation."""
    if field in op.element_fields():
        assert issubclass(op, InstructionOp)
        assert isinstance(op.ENTRY, Instruction)
        operand = op.ENTRY.operands[list(op.element_fields()).index(field)]
        return operand_at(emitter, op.ENTRY.function, operand, value, 1)
    (constraint,) = (
        each.constr for name, each in op.get_irdl_definition().operands if name == field
    )
    (kind,) = constraint.infer(VerificationContext(), length=1)
    return emitter.cast(emitter.scalar_of(value, type_of_ir(kind)), type_of_ir(kind)).ssa


def _summary(op: type[FieldsOp]) -> str:
    """Return what an operation does, in the words of its class but for its syntax."""
    text = inspect.cleandoc(op.__doc__ or "").partition("`: ")[2]
    return text[:1].upper() + text[1:]
