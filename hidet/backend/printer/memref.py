"""Prints operations of `memref`: arrays, variables, loads and stores."""

from collections.abc import Sequence
from math import prod

from xdsl.dialects import memref
from xdsl.dialects.builtin import IntAttr, IntegerAttr, NoneAttr
from xdsl.ir import Operation, SSAValue

from hidet.backend.printer.arith import EXPRESSIONS as ARITHMETIC
from hidet.backend.printer.operators import (
    BitOperator,
    ExpressionPrinter,
    FloatOperator,
    IntegerOperator,
    TextOf,
    refuse_storage_only,
)
from hidet.backend.printer.signs import passed
from hidet.backend.printer.text import Text, call, prefix
from hidet.backend.printer.types import BOOL, element_type
from hidet.backend.printer.writer import StatementPrinter, Writer
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.marks import DECLARES, DEFERRED, UPDATE
from hidet.dialects.shaped import memref_type
from hidet.errors import LegalityError


def element(base: SSAValue, indices: Sequence[SSAValue], text_of: TextOf) -> Text:
    """Return an element of a memref: `x[i]`, `sa[i][j]`, `acc`.

    Raises:
        LegalityError: the memref has a layout, or is in global memory and not of rank 1.
    """
    kind = memref_type(base)
    if not isinstance(kind.layout, NoneAttr):
        raise LegalityError(f"the CUDA printer knows no layouts, found {kind}")
    if space_of(kind) is Space.REGISTER:
        raise LegalityError(f"a tile in registers is left: {kind}", hint="run lower-task")
    if space_of(kind) is Space.GLOBAL and kind.get_num_dims() != 1:
        raise LegalityError(
            f"a memref in global memory prints as a pointer, not {kind}", hint="run flatten-memrefs"
        )
    subscripts = "".join(f"[{text_of(index).text}]" for index in indices)
    return Text(f"{text_of(base).text}{subscripts}", element_type(base))


def address(base: SSAValue, indices: Sequence[SSAValue], text_of: TextOf) -> Text:
    """Return the address of an element: `&x[i]`, or `x` for element 0 of an array."""
    target = element(base, indices, text_of)
    if target.text.endswith("[0]") and len(indices) == 1:
        return Text(target.text.removesuffix("[0]"), target.type)
    return prefix("&", target, target.type)


def _load(op: memref.LoadOp, text_of: TextOf) -> Text:
    """Print a load: `x[i]`, or `hidet::truth(&x[i])` of booleans."""
    if element_type(op.memref) != BOOL or not op.indices:
        return element(op.memref, op.indices, text_of)
    return call("hidet::truth", [address(op.memref, op.indices, text_of)], BOOL)


def _store(op: memref.StoreOp, writer: Writer) -> None:
    """Print `x[i] = v;`, `x[i] += v;` or `float x = v;`."""
    target = element(op.memref, op.indices, writer.text_of)
    if UPDATE in op.attributes:
        symbol, operand = _update(op, writer, target.type)
        writer.line(f"{target.text} {symbol}= {operand.text};")
        return
    declared = f"{target.type} " if DECLARES in op.attributes else ""
    value = passed(writer.text_of(op.value), target.type)
    writer.line(f"{declared}{target.text} = {value.text};")


def _update(op: memref.StoreOp, writer: Writer, target: str) -> tuple[str, Text]:
    """Return the operator and the right side of a compound assignment."""
    computed = op.value.owner
    if not isinstance(computed, Operation):
        raise LegalityError(f"{UPDATE} marks a store of an argument: nothing computes it")
    name = computed.name
    entry = ARITHMETIC.get(type(computed))
    if not isinstance(entry, FloatOperator | IntegerOperator | BitOperator):
        raise LegalityError(f"{UPDATE} marks a store of {name}, which C++ cannot contract")
    match op.attributes[UPDATE]:
        case IntegerAttr(value=IntAttr(data=(0 | 1) as updated)):
            refuse_storage_only(computed)
            return entry.update(computed, target, writer.text_of(computed.operands[1 - updated]))
        case number:
            raise LegalityError(f"{UPDATE} is {number}, but {name} has the operands 0 and 1")


def _alloca(op: memref.AllocaOp, writer: Writer) -> None:
    """Print `__shared__ float sa[16][64];` or `float acc;`."""
    name = writer.declare(op.memref)
    if DEFERRED in op.attributes:
        return
    kind = op.memref.type
    space = space_of(kind)
    if space not in (Space.SHARED, Space.LOCAL) or not isinstance(kind.layout, NoneAttr):
        raise LegalityError(f"the CUDA printer allocates plain shared and local arrays, not {kind}")
    shape = kind.get_shape()
    if any(extent <= 0 for extent in shape):
        raise LegalityError(f"C++ has no array of {prod(shape)} elements: {kind}")
    storage = "__shared__ " if space is Space.SHARED else ""
    alignment = f"__align__({op.alignment.value.data}) " if op.alignment is not None else ""
    extents = "".join(f"[{extent}]" for extent in shape)
    writer.line(f"{storage}{alignment}{element_type(op.memref)} {name}{extents};")


EXPRESSIONS: dict[type[Operation], ExpressionPrinter] = {memref.LoadOp: _load}

STATEMENTS: dict[type[Operation], StatementPrinter] = {
    memref.AllocaOp: _alloca,
    memref.StoreOp: _store,
}
