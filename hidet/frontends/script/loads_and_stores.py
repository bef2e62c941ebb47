"""Accesses to memory that say more than which element: whole vectors, cache hints, order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import SSAValue

from hidet.analysis.memory import root_of
from hidet.arch.instructions import Access, Operand
from hidet.dialects.cuda import HintedCopyOp, OrderedLoadOp, OrderedStoreOp
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.memory_access import (
    LOADS,
    ORDERED_LOADS,
    ORDERED_STORES,
    SCOPES,
    STORES,
    VECTOR_BYTES,
    AccessOrder,
    AccessScope,
    CacheHint,
    CopyVectorOp,
)
from hidet.errors import ScriptError
from hidet.frontends.script.operands import element_at, operand_at
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import VectorType, vector_type
from hidet.frontends.script.values import Pointer, Scalar, Tensor, describe
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
            _copy_run(emitter, source.lane(first), pointer.lane(first), run)
    return vector_in(emitter, kind, source)


def store_vector(emitter: Emitter, pointer: Pointer, value: object) -> None:
    """Store a vector, or the same value for all of its elements, where a pointer points to."""
    kind = VectorType(pointer.element, pointer.lanes)
    vector, run = kind(value), _run(pointer)
    target = registers_of(emitter, kind) if run else pointer
    for lane, each in enumerate(vector):
        emitter.store_at(each, target.lane(lane))
    for first in range(0, kind.lanes, run) if run else ():
        _copy_run(emitter, pointer.lane(first), target.lane(first), run)


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


def _copy_run(emitter: Emitter, target: Pointer, source: Pointer, count: int) -> None:
    """Insert one access of neighbouring elements."""
    for each in (target, source):
        align(each.memory, count * each.element.nbytes)
    start, to = (element_at(emitter, each) for each in (source, target))
    emitter.insert(CopyVectorOp(count, start, to))


_ANY_ORDER = "default"


def load(
    addr: object,
    space: str = "generic",
    sync: str | None = None,
    scope: str | None = None,
    *,
    dtype: object = None,
    cache: str | None = None,
) -> Scalar | Vector:
    """Load what an address points to.

    Args:
        addr: the address, `~x[i]`.
        space: the memory; that of the address is known anyway.
        sync: `acquire`, after which other accesses of the thread stay, or `relaxed`: in order with
            ordered accesses of other threads; None for an ordinary load. In global memory.
        scope: of which threads: `cta`, `gpu`, the default, or `sys`.
        dtype: a vector type, `f32x4`, to load several neighbours by one access; the address is a
            multiple of its size.
        cache: a cache hint: `ca`, `cg`, `cs`, `lu`, `cv`, or `nc` for what no thread writes
            (PTX ISA, ld). In global memory.

    Raises:
        ScriptError: there is no such load.
    """
    emitter = current("load")
    pointer = _address("load", addr)
    if sync is not None:
        order, where = _order("load", pointer, sync, scope)
        op = OrderedLoadOp(order, where, element_at(emitter, pointer))
        return Scalar(emitter, emitter.insert(op).result, pointer.element)
    if dtype is None and cache is None:
        return emitter.load_at(pointer)
    if dtype is None and pointer.lanes > 1:
        dtype = pointer.dtype
    kind = _vector("load", pointer, dtype)
    registers = registers_of(emitter, kind)
    _copy(emitter, "load", registers, pointer, kind.nbytes, cache)
    vector = vector_in(emitter, kind, registers)
    return vector.elements[0] if dtype is None else vector


def store(
    addr: object,
    value: object,
    space: str = "generic",
    sync: str | None = _ANY_ORDER,
    scope: str = "gpu",
    *,
    cache: str | None = None,
) -> None:
    """Store a scalar or a vector where an address points to.

    Args:
        addr: the address, `~x[i]`; that of a vector is a multiple of its size.
        value: what is stored, converted to the type of the elements.
        space: the memory; that of the address is known anyway.
        sync: `release`, before which other accesses of the thread stay, or `relaxed`; None for an
            ordinary store. Left out, a scalar of 4 or 8 bytes in global memory without a cache hint
            is released, as in Hidet; anything else is stored in the ordinary way.
        scope: for which threads: `cta`, `gpu` or `sys`.
        cache: a cache hint: `wb`, `cg`, `cs` or `wt` (PTX ISA, st). In global memory.

    Raises:
        ScriptError: there is no such store.
    """
    emitter = current("store")
    pointer = _address("store", addr)
    element = pointer.element
    if sync == _ANY_ORDER:
        is_plain = (
            isinstance(value, Vector) or pointer.lanes > 1 or cache is not None or element.bits < 32
        )
        sync = None if is_plain or not _is_global(pointer) else "release"
    if sync is not None:
        order, where = _order("store", pointer, sync, scope)
        scalar = emitter.cast(emitter.scalar_of(value, element), element)
        emitter.insert(OrderedStoreOp(order, where, scalar.ssa, element_at(emitter, pointer)))
        return
    if cache is None and (pointer.lanes > 1 or not isinstance(value, Vector)):
        emitter.store_at(value, pointer)
        return
    kind = VectorType(element, value.type.lanes if isinstance(value, Vector) else pointer.lanes)
    _vector("store", pointer, kind)
    registers = registers_of(emitter, kind)
    for lane, each in enumerate(kind(value)):
        emitter.store_at(each, registers.lane(lane))
    _copy(emitter, "store", pointer, registers, kind.nbytes, cache)


def copy_vector(dst: object, src: object, size: int, *, cache: str | None = None) -> None:
    """Copy neighbouring elements by one access, between registers and memory.

    Args:
        dst: the address that they are copied to, a multiple of the size.
        src: the address that they are copied from, too.
        size: how many bytes: 2, 4, 8 or 16.
        cache: a hint as for `load` and `store`, between global memory and registers.

    Raises:
        ScriptError: there is no such copy.
    """
    emitter = current("copy_vector")
    target, source = _address("copy_vector", dst), _address("copy_vector", src)
    bits = target.element.bits
    if target.element != source.element or size not in VECTOR_BYTES or size * 8 % bits != 0:
        raise ScriptError(
            f"copy_vector of {size!r} bytes from {describe(src)} to {describe(dst)}",
            hint="both have elements of the same type, whose bytes together are 2, 4, 8 or 16",
        )
    _copy(emitter, "copy_vector", target, source, size, cache)


def _copy(
    emitter: Emitter, name: str, target: Pointer, source: Pointer, size: int, cache: str | None
) -> None:
    """Insert one access of so many bytes.

    Raises:
        ScriptError: there is none with this hint, or between such memories.
    """
    count = size * 8 // source.element.bits
    to, start = (
        operand_at(emitter, name, Operand(role, _space(each), access), each, count)
        for role, each, access in (("dst", target, Access.WRITE), ("src", source, Access.READ))
    )
    for element in (to, start):
        align(element.memref, size)
    if cache is None:
        is_tile = any(space_of(e.memref.type) is Space.REGISTER for e in (to, start))
        if is_tile or size == 1:
            raise ScriptError(
                f"{name} of {size} bytes from {describe(source)} to {describe(target)}",
                hint="2, 4, 8 or 16 bytes, of tensors that are not spread over threads",
            )
        emitter.insert(CopyVectorOp(count, start, to))
        return
    table = LOADS if _is_global(source) else STORES
    if cache not in table or {_space(source), _space(target)} != {"local", "global"}:
        raise ScriptError(
            f"{name} from {describe(source)} to {describe(target)} has no hint {cache!r}",
            hint=f"between global memory and registers there are {', '.join(table)}",
        )
    emitter.insert(HintedCopyOp(count, start, to, CacheHint(cache)))


def _address(name: str, value: object) -> Pointer:
    if isinstance(value, Tensor) and value.start is not None:
        return Pointer(value.memory, value.element, (value.start,), value.lanes)
    if not isinstance(value, Pointer):
        raise ScriptError(
            f"{name} takes an address, not {describe(value)}",
            hint="the address of an element is ~x[i]",
        )
    return value


def _vector(name: str, pointer: Pointer, dtype: object) -> VectorType:
    """Return the vector type of an access; a scalar is a vector of one element.

    Raises:
        ScriptError: it is none of the elements, or no access has so many bytes.
    """
    kind = VectorType(pointer.element, 1) if dtype is None else vector_type(dtype)
    if kind is None or kind.element != pointer.element or kind.bits // 8 not in VECTOR_BYTES:
        raise ScriptError(
            f"{name} of {dtype} by {describe(pointer)}",
            hint=f"a vector of {pointer.element} of up to 16 bytes, such as "
            f"{pointer.element}x{max(128 // pointer.element.bits, 2)}",
        )
    return kind


def _order(
    name: str, pointer: Pointer, sync: str, scope: str | None
) -> tuple[AccessOrder, AccessScope]:
    """Return how an access is ordered.

    Raises:
        ScriptError: it cannot be ordered so.
    """
    table = ORDERED_LOADS if name == "load" else ORDERED_STORES
    scope = scope or "gpu"
    if (sync, scope) not in table:
        orders = " or ".join(dict.fromkeys(order for order, _ in table))
        raise ScriptError(
            f"{name} with sync={sync!r} and scope={scope!r}",
            hint=f"sync is {orders}, scope is {', '.join(SCOPES)}",
        )
    if not _is_global(pointer) or pointer.element.bits not in (32, 64):
        raise ScriptError(
            f"{name} with sync={sync!r} by {describe(pointer)}",
            hint="elements of 4 or 8 bytes in global memory are accessed in order",
        )
    return AccessOrder(sync), AccessScope(scope)


def _is_global(pointer: Pointer) -> bool:
    return space_of(pointer.memory.type) is Space.GLOBAL


def _space(pointer: Pointer) -> str:
    space = space_of(pointer.memory.type)
    return "local" if space is Space.REGISTER else str(space.value)


__all__: list[str] = ["copy_vector", "load", "store"]
