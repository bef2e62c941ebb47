"""How a scalar of one type becomes one of another: a path of operations of `arith`."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.ir import Operation

from hidet.errors import ScriptError
from hidet.frontends.script.types import BOOL, F32, I32, I64, ScalarType, common_type
from hidet.frontends.script.values import Scalar, describe, is_number

Step = tuple[Callable[..., Operation], ScalarType]
"""A conversion and the type that it gives."""


def conversion_path(source: ScalarType, target: ScalarType) -> list[Step]:
    """Return the conversions from one type to another, which is not `bool`."""
    if source == target:
        return []
    if source.is_float and target.is_float:
        return _between_floats(source, target)
    if source.kind == "index":
        # An index has 64 bits, whatever the compiler finds enough for it.
        if target.is_float:
            return [(arith.IndexCastOp, I64), *_to_float(I64, target)]
        first = target if target.bits >= 32 else I32
        return [(arith.IndexCastOp, first), *_between_integers(first, target)]
    if target.kind == "index":
        if source.is_float:
            return [(arith.FPToSIOp, I64), (arith.IndexCastOp, target)]
        wide = source
        if source.kind in ("unsigned", "bool"):
            wide = I32 if source.bits < 32 else I64
        return [*_between_integers(source, wide), (arith.IndexCastOp, target)]
    if source.is_float:
        make = arith.FPToUIOp if target.kind == "unsigned" else arith.FPToSIOp
        wide = F32 if source.bits == 16 else source
        return [*_between_floats(source, wide), (make, target)]
    if target.is_float:
        return _to_float(source, target)
    return _between_integers(source, target)


def _to_float(source: ScalarType, target: ScalarType) -> list[Step]:
    """Convert an integer or a bool; to a short float through `f32`."""
    make = arith.SIToFPOp if source.kind == "signed" else arith.UIToFPOp
    wide = F32 if target.bits == 16 else target
    return [(make, wide), *_between_floats(wide, target)]


def _between_floats(source: ScalarType, target: ScalarType) -> list[Step]:
    if source.ir == target.ir:
        return []
    if source.bits == target.bits:
        return [(arith.ExtFOp, F32), (arith.TruncFOp, target)]
    return [(arith.ExtFOp if source.bits < target.bits else arith.TruncFOp, target)]


def _between_integers(source: ScalarType, target: ScalarType) -> list[Step]:
    """Convert an integer or a bool; of one width only the sign changes, which the IR lacks."""
    if source.bits == target.bits:
        return []
    if source.bits > target.bits:
        return [(arith.TruncIOp, target)]
    return [(arith.ExtSIOp if source.kind == "signed" else arith.ExtUIOp, target)]


def common_kind(one: object, other: object) -> ScalarType:
    """Return the type in which two alternatives meet; numbers adapt."""
    types = [value.type if isinstance(value, Scalar) else None for value in (one, other)]
    kind = common_type(*types)
    for value in (one, other):
        if isinstance(value, Scalar):
            continue
        if not is_number(value):
            raise ScriptError(f"{describe(value)} stands where a number should")
        if isinstance(value, float) and (kind is None or not kind.is_float):
            kind = F32
        elif kind is None or (kind is BOOL and not isinstance(value, bool)):
            kind = BOOL if isinstance(value, bool) else I32
    assert kind is not None
    return kind
