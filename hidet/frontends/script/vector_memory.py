"""Vectors in memory: loaded and stored by as few accesses as the machine allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import SSAValue

from hidet.analysis.memory import root_of
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.memory_access import VECTOR_BYTES, CopyVectorOp
from hidet.dialects.fields import Element
from hidet.frontends.script.types import VectorType
from hidet.frontends.script.values import Pointer, Scalar
from hidet.frontends.script.variables import marked
from hidet.frontends.script.vectors import Vector

if TYPE_CHECKING:
    from hidet.frontends.script.emitter import Emitter


def load_vector(emitter: Emitter, pointer: Pointer) -> Vector:
    """Load the vector that a pointer points to."""
    kind = VectorType(pointer.element, pointer.lanes)
    source = pointer
    if run := _run(pointer):
        source = registers_of(emitter, kind)
        for first in range(0, kind.lanes, run):
            _copy(emitter, source.lane(first), pointer.lane(first), run)
    return vector_in(emitter, kind, source)


def store_vector(emitter: Emitter, pointer: Pointer, value: object) -> None:
    """Store a vector, or the same value for all of its elements, where a pointer points to."""
    kind = VectorType(pointer.element, pointer.lanes)
    vector, run = kind(value), _run(pointer)
    target = registers_of(emitter, kind) if run else pointer
    for lane, each in enumerate(vector):
        emitter.store_at(each, target.lane(lane))
    for first in range(0, kind.lanes, run) if run else ():
        _copy(emitter, pointer.lane(first), target.lane(first), run)


def registers_of(emitter: Emitter, kind: VectorType) -> Pointer:
    """Return an array of the thread that can hold a vector."""
    memory = marked(emitter.local_array(kind.element.ir, [kind.lanes]), kind.element)
    return Pointer(memory, kind.element, (0,), kind.lanes)


def vector_in(emitter: Emitter, kind: VectorType, registers: Pointer) -> Vector:
    """Return the vector that registers hold."""
    elements: Iterator[Scalar] = (
        emitter.load_at(registers.lane(lane)) for lane in range(kind.lanes)
    )
    return Vector(emitter, kind, tuple(elements))


def align(array: SSAValue, size: int) -> None:
    """Make sure that an array of the kernel's own starts at a multiple of a number of bytes."""
    op = root_of(array).owner
    if isinstance(op, memref.AllocaOp):
        known = 1 if op.alignment is None else op.alignment.value.data
        op.alignment = IntegerAttr(max(size, known), i64)


def access_bytes(size: int) -> int:
    """Return the bytes of the widest accesses that something of some bytes consists of."""
    return max(width for width in VECTOR_BYTES if size % width == 0)


def _run(pointer: Pointer) -> int:
    """Return how many elements of a vector one access has; 0 where they are accessed one by one."""
    if space_of(pointer.memory.type) in (Space.LOCAL, Space.REGISTER):
        return 0
    element = pointer.element.nbytes
    run = access_bytes(element * pointer.lanes) // element
    return run if run > 1 else 0


def _copy(emitter: Emitter, target: Pointer, source: Pointer, count: int) -> None:
    """Insert one access of neighbouring elements."""
    for each in (target, source):
        align(each.memory, count * each.element.nbytes)
    start, to = ([emitter.index_of(index) for index in each.indices] for each in (source, target))
    emitter.insert(CopyVectorOp(count, Element(source.memory, start), Element(target.memory, to)))
