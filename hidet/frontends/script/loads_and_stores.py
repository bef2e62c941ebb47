"""Loads and stores with vector types, cache hints or memory order."""

from hidet.arch.instructions import Access, Operand
from hidet.dialects import cuda
from hidet.errors import ScriptError
from hidet.frontends.script.instructions import operand_at
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import Scalar, convert
from hidet.frontends.script.tensors import (
    Pointer,
    Tensor,
    align,
    element_at,
    load_at,
    registers_of,
    store_at,
    vector_in,
)
from hidet.frontends.script.tracing import insert
from hidet.frontends.script.types import VectorType, vector_type
from hidet.frontends.script.vectors import Vector

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
    """Load from an address.

    Args:
        addr: the address, `~x[i]`.
        space: ignored; the address implies it.
        sync: `acquire`, `relaxed`, or None for a weak load. Only in global memory.
        scope: the scope of `sync`: `cta`, `gpu`, the default, or `sys`.
        dtype: a vector type, `f32x4`, to load adjacent elements by one access; the address is
            aligned to its size.
        cache: a cache hint: `ca`, `cg`, `cs`, `lu`, `cv`, or `nc` for read-only data (PTX ISA, ld).
            Only in global memory.
    """
    pointer = _address("load", addr)
    if sync is not None:
        order, where = _order("load", pointer, sync, scope)
        op = cuda.OrderedLoadOp(order, where, element_at(pointer))
        return Scalar(insert(op).result, pointer.element)
    if dtype is None and cache is None:
        return load_at(pointer)
    if dtype is None and pointer.lanes > 1:
        dtype = pointer.dtype
    kind = _vector("load", pointer, dtype)
    registers = registers_of(kind)
    _copy("load", registers, pointer, kind.nbytes, cache)
    vector = vector_in(registers, kind)
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
    """Store a scalar or a vector.

    Args:
        addr: the address, `~x[i]`; for a vector it is aligned to its size.
        value: the value, converted to the element type.
        space: ignored; the address implies it.
        sync: `release`, `relaxed`, or None for a weak store. By default, a scalar of 4 or 8 bytes
            in global memory without a cache hint is released, as in Hidet; other stores are weak.
        scope: the scope of `sync`: `cta`, `gpu` or `sys`.
        cache: a cache hint: `wb`, `cg`, `cs` or `wt` (PTX ISA, st). Only in global memory.
    """
    pointer = _address("store", addr)
    element = pointer.element
    if sync == _ANY_ORDER:
        is_plain = (
            isinstance(value, Vector) or pointer.lanes > 1 or cache is not None or element.bits < 32
        )
        sync = None if is_plain or not _is_global(pointer) else "release"
    if sync is not None:
        order, where = _order("store", pointer, sync, scope)
        scalar = convert(value, element)
        insert(cuda.OrderedStoreOp(order, where, scalar.ssa, element_at(pointer)))
        return
    if cache is None and (pointer.lanes > 1 or not isinstance(value, Vector)):
        store_at(value, pointer)
        return
    kind = VectorType(element, value.type.lanes if isinstance(value, Vector) else pointer.lanes)
    _vector("store", pointer, kind)
    registers = registers_of(kind)
    for lane, each in enumerate(kind(value)):
        store_at(each, registers.lane(lane))
    _copy("store", pointer, registers, kind.nbytes, cache)


def copy_vector(dst: object, src: object, size: int, *, cache: str | None = None) -> None:
    """Copy adjacent elements by one access, between registers and memory.

    Args:
        dst: the destination, aligned to the size.
        src: the source, aligned to the size.
        size: the number of bytes: 2, 4, 8 or 16.
        cache: a hint as for `load` and `store`, between global memory and registers.
    """
    target, source = _address("copy_vector", dst), _address("copy_vector", src)
    bits = target.element.bits
    if target.element != source.element or size not in cuda.VECTOR_BYTES or size * 8 % bits != 0:
        raise ScriptError(
            f"copy_vector of {size!r} bytes from {describe(src)} to {describe(dst)}",
            hint="both have one element type, and the size is 2, 4, 8 or 16 bytes",
        )
    _copy("copy_vector", target, source, size, cache)


def _copy(name: str, target: Pointer, source: Pointer, size: int, cache: str | None) -> None:
    """Insert one access of a number of bytes."""
    count = size * 8 // source.element.bits
    to, start = (
        operand_at(name, Operand(role, _space(each), access), each, count)
        for role, each, access in (("dst", target, Access.WRITE), ("src", source, Access.READ))
    )
    for element in (to, start):
        align(element.memref, size)
    if cache is None:
        is_tile = any(cuda.space_of(e.memref.type) is cuda.Space.REGISTER for e in (to, start))
        if is_tile or size == 1:
            raise ScriptError(
                f"{name} of {size} bytes from {describe(source)} to {describe(target)}",
                hint="2, 4, 8 or 16 bytes, of tensors that are not distributed over threads",
            )
        insert(cuda.CopyVectorOp(start, to, count))
        return
    table = cuda.LOADS if _is_global(source) else cuda.STORES
    if cache not in table or {_space(source), _space(target)} != {"local", "global"}:
        raise ScriptError(
            f"{name} from {describe(source)} to {describe(target)} has no hint {cache!r}",
            hint=f"between global memory and registers there are {', '.join(table)}",
        )
    insert(cuda.HintedCopyOp(start, to, count, cuda.CacheHint(cache)))


def _address(name: str, value: object) -> Pointer:
    if isinstance(value, Tensor) and value.start is not None:
        return Pointer(value.memory, value.dtype, (value.start,))
    if not isinstance(value, Pointer):
        raise ScriptError(
            f"{name} takes an address, not {describe(value)}",
            hint="the address of an element is ~x[i]",
        )
    return value


def _vector(name: str, pointer: Pointer, dtype: object) -> VectorType:
    """Return the vector type of an access; a scalar is a vector with one lane."""
    kind = VectorType(pointer.element, 1) if dtype is None else vector_type(dtype)
    if kind is None or kind.element != pointer.element or kind.bits // 8 not in cuda.VECTOR_BYTES:
        raise ScriptError(
            f"{name} of {dtype} at {describe(pointer)}",
            hint=f"a vector of {pointer.element} of up to 16 bytes, such as "
            f"{pointer.element}x{max(128 // pointer.element.bits, 2)}",
        )
    return kind


def _order(
    name: str, pointer: Pointer, sync: str, scope: str | None
) -> tuple[cuda.AccessOrder, cuda.AccessScope]:
    """Return the memory order and the scope of an access."""
    table = cuda.ORDERED_LOADS if name == "load" else cuda.ORDERED_STORES
    scope = scope or "gpu"
    if (sync, scope) not in table:
        orders = " or ".join(dict.fromkeys(order for order, _ in table))
        raise ScriptError(
            f"{name} with sync={sync!r} and scope={scope!r}",
            hint=f"sync is {orders}, scope is {', '.join(cuda.SCOPES)}",
        )
    if not _is_global(pointer) or pointer.element.bits not in (32, 64):
        raise ScriptError(
            f"{name} with sync={sync!r} at {describe(pointer)}",
            hint="ordered accesses are to elements of 4 or 8 bytes in global memory",
        )
    return cuda.AccessOrder(sync), cuda.AccessScope(scope)


def _is_global(pointer: Pointer) -> bool:
    return cuda.space_of(pointer.memory.type) is cuda.Space.GLOBAL


def _space(pointer: Pointer) -> str:
    space = cuda.space_of(pointer.memory.type)
    return "local" if space is cuda.Space.REGISTER else str(space.value)


__all__: list[str] = ["copy_vector", "load", "store"]
