"""Values seen as other types of as many bits: `reinterpret(x, u32)`, and CUDA's names for it."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.arith import BitcastOp
from xdsl.ir import SSAValue

from hidet.dialects.cuda.arithmetic import JoinOp, PartOp
from hidet.errors import ScriptError
from hidet.frontends.script.emitter import Emitter
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import (
    BF16,
    F16,
    F32,
    F64,
    I16,
    I32,
    I64,
    U16,
    U32,
    ScalarType,
    element_type,
)
from hidet.frontends.script.values import Scalar, describe
from hidet.frontends.script.vectors import Vector, VectorType, is_paired, pair_type, whole_of


def reinterpret(value: object, dtype: object) -> Scalar | Vector:
    """Return the value of a type that has the same bits.

    Args:
        value: a scalar or a vector.
        dtype: a type of as many bits: `u32`, `f16x2`, `f32x4`. The first element of a vector has
            the lowest bits.

    Raises:
        ScriptError: there are more bits, or fewer, or it is not known how many.
    """
    emitter = current("reinterpret")
    target, lanes = element_type(dtype)
    elements = value.elements if isinstance(value, Vector) else (value,)
    parts = [each for each in elements if isinstance(each, Scalar)]
    if len(parts) < len(elements) or any(part.type.kind in ("bool", "index") for part in parts):
        raise ScriptError(
            f"{describe(value)} has no bits that are known",
            hint="give it a type of so many bits: f32(x), i32(i)",
        )
    source = parts[0].type
    if source.bits * len(parts) != target.bits * lanes or target.kind == "bool":
        raise ScriptError(
            f"{describe(value)} seen as {dtype}",
            hint=f"a type, or a vector, of {source.bits * len(parts)} bits",
        )
    kind = VectorType(target, lanes)
    values = _regrouped(emitter, [part.ssa for part in parts], source, kind)
    scalars = tuple(Scalar(emitter, each, target) for each in values)
    return scalars[0] if lanes == 1 else Vector(emitter, kind, scalars)


def _regrouped(
    emitter: Emitter, parts: list[SSAValue], source: ScalarType, kind: VectorType
) -> list[SSAValue]:
    """Return the elements of a vector of a type that have the bits of other ones."""
    target = kind.element
    if source.bits == target.bits:
        if source.ir == target.ir:
            return parts
        return [emitter.insert(BitcastOp(part, target.ir)).result for part in parts]
    if source.bits < target.bits:
        count = target.bits // source.bits
        groups = [parts[first : first + count] for first in range(0, len(parts), count)]
        return [_joined(emitter, group, target) for group in groups]
    count = source.bits // target.bits
    if source.bits == 32 and is_paired(kind):
        pair = pair_type(target)
        parts = [emitter.insert(JoinOp([part], pair)).result for part in parts]
    return [
        emitter.insert(PartOp(part, number, target.ir)).result
        for part in parts
        for number in range(count)
    ]


def _joined(emitter: Emitter, group: list[SSAValue], target: ScalarType) -> SSAValue:
    """Return some values as one; a value that they are all parts of as what it is."""
    whole = whole_of(group)
    if whole is not None and whole.type == target.ir:
        return whole
    return emitter.insert(JoinOp(group if whole is None else [whole], target.ir)).result


def _named(name: str, source: ScalarType, target: ScalarType) -> Callable[[object], Scalar]:
    """Return the function of CUDA with this name."""

    def function(x: object) -> Scalar:
        emitter = current(name)
        value = emitter.cast(emitter.scalar_of(x, source), source)
        (found,) = _regrouped(emitter, [value.ssa], source, VectorType(target, 1))
        return Scalar(emitter, found, target)

    function.__name__ = name
    function.__doc__ = f"Return the {target} that has the bits of an {source}."
    return function


# CUDA's functions that keep the bits.
float_as_uint = _named("__float_as_uint", F32, U32)
float_as_int = _named("__float_as_int", F32, I32)
uint_as_float = _named("__uint_as_float", U32, F32)
int_as_float = _named("__int_as_float", I32, F32)
double_as_longlong = _named("__double_as_longlong", F64, I64)
longlong_as_double = _named("__longlong_as_double", I64, F64)
half_as_ushort = _named("__half_as_ushort", F16, U16)
half_as_short = _named("__half_as_short", F16, I16)
ushort_as_half = _named("__ushort_as_half", U16, F16)
short_as_half = _named("__short_as_half", I16, F16)
bfloat16_as_ushort = _named("__bfloat16_as_ushort", BF16, U16)
bfloat16_as_short = _named("__bfloat16_as_short", BF16, I16)
ushort_as_bfloat16 = _named("__ushort_as_bfloat16", U16, BF16)
short_as_bfloat16 = _named("__short_as_bfloat16", I16, BF16)
