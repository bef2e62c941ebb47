"""Questions about memrefs that several checks ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from hidet.dialects.compute import LoadOp, StoreOp
from hidet.dialects.cuda import CopyVectorOp
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.table_ops import InstructionOp
from hidet.dialects.task import CombineOp, CopyOp, MatmulOp


def buffer_type(value: SSAValue) -> MemRefType[Attribute] | None:
    """Return the type of a value that is a memref, None for any other value."""
    kind = value.type
    return cast("MemRefType[Attribute]", kind) if isinstance(kind, MemRefType) else None


def is_in(value: SSAValue, space: Space) -> bool:
    """Return whether a value is a memref in a memory space."""
    kind = buffer_type(value)
    return kind is not None and space_of(kind) is space


def reads_of(op: Operation) -> Iterator[SSAValue]:
    """Give the memrefs and views that an op reads by itself, without the ops inside it."""
    match op:
        case LoadOp():
            yield op.source
        case memref.LoadOp():
            yield op.memref
        case CopyOp() | CopyVectorOp():
            yield op.source
        case InstructionOp():
            yield from op.reads
        case MatmulOp():
            yield from (op.lhs, op.rhs, op.accumulator)
        case CombineOp():
            yield op.tile
        case _:
            return


def writes_of(op: Operation) -> Iterator[SSAValue]:
    """Give the memrefs and views that an op writes by itself, without the ops inside it."""
    match op:
        case StoreOp():
            yield op.target
        case memref.StoreOp():
            yield op.memref
        case CopyOp() | CopyVectorOp():
            yield op.target
        case InstructionOp():
            yield from op.writes
        case MatmulOp():
            yield op.accumulator
        case CombineOp():
            yield op.tile
        case _:
            return
