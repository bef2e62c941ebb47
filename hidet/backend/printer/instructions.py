"""Prints the operations of the instruction table, as calls of their functions."""

from collections.abc import Set
from typing import cast

from xdsl.ir import Operation

from hidet.backend.printer.memref import address
from hidet.backend.printer.operators import ExpressionPrinter, TextOf
from hidet.backend.printer.signs import as_unsigned, passed
from hidet.backend.printer.text import Text, call
from hidet.backend.printer.types import UNSIGNED, value_type
from hidet.backend.printer.writer import StatementPrinter, Writer
from hidet.dialects.cuda import Cuda
from hidet.dialects.cuda.arithmetic import JoinOp, Lop3Op, PartOp, PrmtOp
from hidet.dialects.cuda.table_ops import InstructionOp
from hidet.dialects.cuda.tensor_core import MatrixDescriptorOp


def _call(op: InstructionOp, text_of: TextOf) -> Text:
    """Print `hidet::mma_m16n8k16(&c[i], &a[j], &b[k])`: addresses first, then scalars."""
    arguments = [address(element.memref, element.indices, text_of) for element in op.elements]
    elements = {argument.type for argument in arguments}
    arguments += [_scalar(text_of(value), elements) for value in op.scalars]
    kind = value_type(op.results[0]) if op.results else "void"
    if isinstance(op, _UNSIGNED):
        kind = UNSIGNED[kind]
    return call(f"hidet::{op.function}", arguments, kind)


def _join(op: Operation, text_of: TextOf) -> Text:
    """Print `hidet::join<hidet::half2>(a, b)`."""
    kind = value_type(op.results[0])
    return call(f"hidet::join<{kind}>", [text_of(part) for part in op.operands], kind)


def _part(op: PartOp, text_of: TextOf) -> Text:
    """Print `hidet::part<hidet::half, 1>(w)`."""
    kind = value_type(op.result)
    return call(f"hidet::part<{kind}, {op.number.value.data}>", [text_of(op.whole)], kind)


_UNSIGNED = Lop3Op | MatrixDescriptorOp | PrmtOp
"""The operations whose result is unsigned in C++."""


def _scalar(value: Text, elements: Set[str]) -> Text:
    """Return a scalar operand, in the element type if it is an element."""
    unsigned = UNSIGNED.get(value.type)
    return as_unsigned(value) if unsigned in elements else passed(value, value.type)


def _statement(op: InstructionOp, writer: Writer) -> None:
    """Print the call as a statement."""
    writer.line(f"{_call(op, writer.text_of).text};")


# `issubclass` would check all derived classes.
_INSTRUCTIONS = [
    cast("type[InstructionOp]", op) for op in Cuda.operations if InstructionOp in op.__mro__
]

EXPRESSIONS: dict[type[Operation], ExpressionPrinter] = {
    **{op: _call for op in _INSTRUCTIONS if op.get_irdl_definition().results},
    JoinOp: _join,
    PartOp: _part,
}
"""The printers of instructions with a result."""

STATEMENTS: dict[type[Operation], StatementPrinter] = {
    op: _statement for op in _INSTRUCTIONS if not op.get_irdl_definition().results
}
"""The printers of instructions without a result."""
