"""Atomic operations in scripts, with scopes and memory orders."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from hidet.dialects.cuda import AtomicOp
from hidet.dialects.cuda.memory_access import AccessScope, AtomicKind, AtomicPairOp
from hidet.errors import ScriptError
from hidet.frontends.script.barriers import FENCES
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import Scalar, binary, constant, convert
from hidet.frontends.script.tensors import Pointer, element_at
from hidet.frontends.script.tracing import insert
from hidet.frontends.script.vectors import Vector

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
    """Return the script function of an atomic read-modify-write operation."""

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
    """Insert an operation and the fences of its memory order."""
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
    """Return the address and the scope of an operation."""
    if not isinstance(address, Pointer):
        raise ScriptError(
            f"an atomic operation takes an address, not {describe(address)}",
            hint="the address of an element is ~x[i]",
        )
    if address.element.short_name not in types:
        raise ScriptError(
            f"{name} of {address.element} is not supported", hint=f"there is {', '.join(types)}"
        )
    if sem not in _FENCES or scope not in SCOPES:
        raise ScriptError(
            f"{name} with sem={sem!r} and scope={scope!r}",
            hint=f"sem is {', '.join(_FENCES)}; scope is {', '.join(SCOPES)}",
        )
    return address, SCOPES[scope]


# The names of CUDA.
atomicAdd, atomicSub, atomicExch, atomicCAS = atomic_add, atomic_sub, atomic_exchange, atomic_cas
atomicMax, atomicMin = atomic_max, atomic_min
atomicAnd, atomicOr, atomicXor = atomic_and, atomic_or, atomic_xor

__all__: list[str] = ["atomicAdd", "atomicAnd", "atomicCAS", "atomicExch", "atomicMax", "atomicMin"]
__all__ += ["atomicOr", "atomicSub", "atomicXor", "atomic_add", "atomic_and", "atomic_cas"]
__all__ += ["atomic_exchange", "atomic_max", "atomic_min", "atomic_or", "atomic_sub", "atomic_xor"]
