"""Accesses with cache hints or memory order: loads, stores, atomic operations."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from hidet.arch.instructions import Access, Operand
from hidet.dialects import cuda
from hidet.dialects.cuda import AccessScope, AtomicKind, AtomicOp, AtomicPairOp
from hidet.errors import ScriptError
from hidet.frontends.script.barriers import FENCES
from hidet.frontends.script.instructions import operand_at, space_name
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import Scalar, binary, constant, convert
from hidet.frontends.script.tensors import (
    Pointer,
    Tensor,
    element_at,
    load_at,
    registers_of,
    store_at,
    vector_in,
)
from hidet.frontends.script.tracing import insert
from hidet.frontends.script.types import VectorType, vector_type
from hidet.frontends.script.vectors import Vector
from hidet.rewriting.builder import align

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
        sync = None if is_plain or space_name(pointer) != "global" else "release"
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

    The size is 2, 4, 8 or 16 bytes, and both addresses are aligned to it. Between global memory and
    registers there are the cache hints of `load` and `store`.
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
    count = size * 8 // source.element.bits
    to, start = (
        operand_at(name, Operand(role, space_name(each), access), each, count)
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
    table = cuda.LOADS if space_name(source) == "global" else cuda.STORES
    if cache not in table or {space_name(source), space_name(target)} != {"local", "global"}:
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
    table = cuda.ORDERED_LOADS if name == "load" else cuda.ORDERED_STORES
    scope = scope or "gpu"
    if (sync, scope) not in table:
        orders = " or ".join(dict.fromkeys(order for order, _ in table))
        raise ScriptError(
            f"{name} with sync={sync!r} and scope={scope!r}",
            hint=f"sync is {orders}, scope is {', '.join(cuda.SCOPES)}",
        )
    if space_name(pointer) != "global" or pointer.element.bits not in (32, 64):
        raise ScriptError(
            f"{name} with sync={sync!r} at {describe(pointer)}",
            hint="ordered accesses are to elements of 4 or 8 bytes in global memory",
        )
    return cuda.AccessOrder(sync), cuda.AccessScope(scope)


_INTEGERS = ("i32", "u32", "i64", "u64")
_VECTORS = ("f16x2", "bf16x2")

TYPES: dict[AtomicKind, tuple[str, ...]] = {
    AtomicKind.ADD: (*_INTEGERS, "f16", "bf16", "f32", "f64"),
    **dict.fromkeys((AtomicKind.MAX, AtomicKind.MIN), (*_INTEGERS, "f32", "f64")),
    **dict.fromkeys((AtomicKind.AND, AtomicKind.OR, AtomicKind.XOR), _INTEGERS),
    AtomicKind.EXCHANGE: (*_INTEGERS, "f32", "f64"),
    AtomicKind.CAS: _INTEGERS,
}
"""The element types that each operation supports."""

_UNSIGNED = {AtomicKind.MAX: AtomicKind.UMAX, AtomicKind.MIN: AtomicKind.UMIN}

SCOPES = {
    "cta": AccessScope.CTA,
    "block": AccessScope.CTA,
    "gpu": AccessScope.GPU,
    "sys": AccessScope.SYS,
    "system": AccessScope.SYS,
}
"""The scopes of atomicity and ordering."""

_FENCES = {
    "relaxed": (False, False),
    "acquire": (False, True),
    "release": (True, False),
    "acq_rel": (True, True),
}
"""For each memory order whether a fence precedes the relaxed operation, and whether one follows it
(PTX ISA, Memory Consistency Model)."""


def _update(name: str, kind: AtomicKind, what: str, note: str = "") -> Callable[..., Scalar | None]:
    def function(
        addr: object,
        value: object,
        sem: str = "relaxed",
        space: str = "generic",
        scope: str = "gpu",
    ) -> Scalar | None:
        if name == "add" and isinstance(value, Vector):
            return _add_pair(addr, value, sem, scope)
        return _atomic(kind, addr, value, sem, scope, negative=name == "sub")

    function.__name__ = f"atomic_{name}"
    function.__doc__ = f"""{what} atomically; return its old value.
{note}
    Args:
        addr: the address of the element, `~x[i]`.
        value: the operand, converted to the element type.
        sem: `acquire`, `release`, `acq_rel` or `relaxed`.
        space: ignored; the address implies it.
        scope: `block` (`cta`), `gpu`, or `system` (`sys`).

    Raises:
        ScriptError: there is no such operation of these elements.
    """
    return function


_PAIRS = """
    A vector `f16x2` or `bf16x2` is added to two adjacent elements, each atomically; their address
    is aligned to 4 bytes, and the old values are not returned.
"""

atomic_add = _update("add", AtomicKind.ADD, "Add a value to an element", _PAIRS)
atomic_sub = _update("sub", AtomicKind.ADD, "Subtract a value from an element")
atomic_max = _update("max", AtomicKind.MAX, "Store the larger one of an element and a value")
atomic_min = _update("min", AtomicKind.MIN, "Store the smaller one of an element and a value")
atomic_and = _update("and", AtomicKind.AND, "Store the bits that element and value have in common")
atomic_or = _update("or", AtomicKind.OR, "Store the bits of an element and of a value together")
atomic_xor = _update("xor", AtomicKind.XOR, "Store the bits in which an element and a value differ")
atomic_exchange = _update("exchange", AtomicKind.EXCHANGE, "Store a value in an element")


def atomic_cas(
    addr: object,
    compare: object,
    value: object,
    sem: str = "relaxed",
    space: str = "generic",
    scope: str = "gpu",
) -> Scalar:
    """Compare an element with `compare` and swap it if equal, atomically; return its old value."""
    return _atomic(AtomicKind.CAS, addr, value, sem, scope, expected=compare)


def _atomic(
    kind: AtomicKind,
    address: object,
    value: object,
    sem: str,
    scope: str,
    *,
    expected: object = None,
    negative: bool = False,
) -> Scalar:
    name = f"atomic_{kind.value}"
    pointer, where = _target(name, address, sem, scope, TYPES[kind])
    element = pointer.element
    operand = convert(value, element)
    if negative:
        operand = binary("-", constant(0, element), operand)
    compared = None if expected is None else convert(expected, element).ssa
    kind = _UNSIGNED.get(kind, kind) if element.kind == "unsigned" else kind
    with _fenced(sem, where) as scope_of_op:
        op = insert(AtomicOp(kind, operand.ssa, compared, element_at(pointer), scope_of_op))
    return Scalar(op.result, element)


@contextmanager
def _fenced(sem: str, scope: AccessScope) -> Generator[AccessScope | None]:
    """Insert the fences of a memory order around an operation; yields its scope, None for GPU."""
    before, after = _FENCES[sem]
    if before:
        FENCES[scope]()
    yield None if scope is AccessScope.GPU else scope
    if after:
        FENCES[scope]()


def _add_pair(address: object, value: Vector, sem: str, scope: str) -> None:
    """Insert the addition of a pair of 16-bit floats, and the fences of its memory order."""
    pointer, where = _target("atomic_add", address, sem, scope, TYPES[AtomicKind.ADD])
    if str(value.type) not in _VECTORS or value.type.element != pointer.element:
        raise ScriptError(
            f"atomic_add of {value.type} by {describe(pointer)}",
            hint=f"{' or '.join(_VECTORS)} is added to two adjacent elements of its type",
        )
    first, second = (each.ssa for each in value)
    with _fenced(sem, where) as scope_of_op:
        insert(AtomicPairOp(first, second, element_at(pointer), scope_of_op))


def _target(
    name: str, address: object, sem: str, scope: str, types: tuple[str, ...]
) -> tuple[Pointer, AccessScope]:
    pointer = _address("an atomic operation", address)
    if pointer.element.short_name not in types:
        raise ScriptError(
            f"{name} of {pointer.element} is not supported", hint=f"there is {', '.join(types)}"
        )
    if sem not in _FENCES or scope not in SCOPES:
        raise ScriptError(
            f"{name} with sem={sem!r} and scope={scope!r}",
            hint=f"sem is {', '.join(_FENCES)}; scope is {', '.join(SCOPES)}",
        )
    return pointer, SCOPES[scope]


# The names of CUDA.
atomicAdd, atomicSub, atomicExch, atomicCAS = atomic_add, atomic_sub, atomic_exchange, atomic_cas
atomicMax, atomicMin = atomic_max, atomic_min
atomicAnd, atomicOr, atomicXor = atomic_and, atomic_or, atomic_xor

__all__: list[str] = ["atomicAdd", "atomicAnd", "atomicCAS", "atomicExch", "atomicMax"]
__all__ += ["atomicMin", "atomicOr", "atomicSub", "atomicXor", "atomic_add", "atomic_and"]
__all__ += ["atomic_cas", "atomic_exchange", "atomic_max", "atomic_min", "atomic_or"]
__all__ += ["atomic_sub", "atomic_xor", "copy_vector", "load", "store"]
