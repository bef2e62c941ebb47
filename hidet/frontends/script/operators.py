"""Tables from the operators and functions of scripts to IR operations."""

from collections.abc import Callable

from xdsl.dialects import arith, memref
from xdsl.ir import Block, Operation, SSAValue

from hidet.analysis.memory import is_arithmetic
from hidet.dialects.cuda.arithmetic import FloorModOp
from hidet.dialects.cuda.attributes import is_variable
from hidet.frontends.script.types import F32, I32, I64, Kind, ScalarType

Binary = Callable[[SSAValue, SSAValue], Operation]
"""Constructs an operation with two operands."""


def mathematics(name: str) -> Callable[..., Operation]:
    """Return a constructor of an operation of `math`, which loads the dialect on first use."""

    def make(*operands: SSAValue) -> Operation:
        from xdsl.dialects import math

        return getattr(math, name)(*operands)

    return make


def _by_kind(
    floats: Binary | None,
    signed: Binary | None,
    unsigned: Binary | None,
    booleans: Binary | None = None,
) -> dict[Kind, Binary | None]:
    """Return the operations of an operator by kind of arithmetic; None where there is none."""
    integers: dict[Kind, Binary | None] = {"signed": signed, "index": signed, "unsigned": unsigned}
    return {"float": floats, "bool": booleans, **integers}


ARITHMETIC: dict[str, dict[Kind, Binary | None]] = {
    "+": _by_kind(arith.AddfOp, arith.AddiOp, arith.AddiOp),
    "-": _by_kind(arith.SubfOp, arith.SubiOp, arith.SubiOp),
    "*": _by_kind(arith.MulfOp, arith.MuliOp, arith.MuliOp),
    # Integer `/` rounds towards zero, as in CUDA; `//` and `%` round down, as in Python.
    "/": _by_kind(arith.DivfOp, arith.DivSIOp, arith.DivUIOp),
    "//": _by_kind(None, arith.FloorDivSIOp, arith.DivUIOp),
    "%": _by_kind(None, FloorModOp, arith.RemUIOp),
    "**": _by_kind(mathematics("PowFOp"), None, None),
    "<<": _by_kind(None, arith.ShLIOp, arith.ShLIOp),
    ">>": _by_kind(None, arith.ShRSIOp, arith.ShRUIOp),
    "&": _by_kind(None, arith.AndIOp, arith.AndIOp, arith.AndIOp),
    "|": _by_kind(None, arith.OrIOp, arith.OrIOp, arith.OrIOp),
    "^": _by_kind(None, arith.XOrIOp, arith.XOrIOp, arith.XOrIOp),
    # As CUDA's fmaxf and fminf: NaN only if both operands are NaN.
    "max": _by_kind(arith.MaxnumfOp, arith.MaxSIOp, arith.MaxUIOp),
    "min": _by_kind(arith.MinnumfOp, arith.MinSIOp, arith.MinUIOp),
    "atan2": _by_kind(mathematics("Atan2Op"), None, None),
    "copysign": _by_kind(mathematics("CopySignOp"), None, None),
}
"""Operators whose result has the operand type."""

HINTS = {
    "//": "divide floats with /",
    "%": "the remainder is one of integers; of floats it is math.fmod(a, b)",
    "**": "multiply integers, or convert one of them: f32(a) ** b",
    **dict.fromkeys("&|", "conditions are joined by `and` and `or`, which bind less than <"),
}
"""Hints for operators that a kind of arithmetic lacks."""


COMPARISONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
"""Comparisons, by their predicates without sign or order; with NaN only `!=` is true."""

_FUNCTIONS = (
    "AbsF Acos Acosh Asin Asinh Atan Atanh Cbrt Ceil Cos Cosh Erf Exp Exp2 ExpM1 Floor Log Log10 "
    "Log1p Log2 RoundEven Rsqrt Sin Sinh Sqrt Tan Tanh Trunc"
)

FUNCTIONS: dict[str, Callable[[SSAValue], Operation]] = {
    name.removesuffix("F").removesuffix("Even").lower(): mathematics(f"{name}Op")
    for name in _FUNCTIONS.split()
}
"""Unary functions on floats."""


def is_cheap(block: Block) -> bool:
    """Return whether a block has no side effects or traps, so that it can run speculatively."""
    return all(
        (is_arithmetic(op) and not isinstance(op, _DIVISIONS))
        or (isinstance(op, memref.LoadOp) and is_variable(op.memref))
        for op in block.ops
    )


_DIVISIONS = (
    arith.DivSIOp | arith.DivUIOp | arith.FloorDivSIOp | FloorModOp | arith.RemSIOp | arith.RemUIOp
)

Step = tuple[Callable[..., Operation], ScalarType]
"""A conversion and its result type."""


def conversion_path(source: ScalarType, target: ScalarType) -> list[Step]:
    """Return the conversions from one type to another, other than `bool`.

    Those between integers and 16-bit floats go through `f32`. Signless IR needs no op for a change
    of sign.
    """
    if source.ir == target.ir:
        return []
    if source.kind == "index":
        # An index has 64 bits, whatever width the compiler chooses later.
        first = I64 if target.is_float else target if target.bits >= 32 else I32
        return [(arith.IndexCastOp, first), *conversion_path(first, target)]
    if target.kind == "index":
        if source.is_float:
            return [(arith.FPToSIOp, I64), (arith.IndexCastOp, target)]
        wide = source
        if source.kind in ("unsigned", "bool"):
            wide = I32 if source.bits < 32 else I64
        return [*conversion_path(source, wide), (arith.IndexCastOp, target)]
    if source.is_float and target.is_float:
        if source.bits == target.bits:
            return [(arith.ExtFOp, F32), (arith.TruncFOp, target)]
        return [(arith.ExtFOp if source.bits < target.bits else arith.TruncFOp, target)]
    if source.is_float:
        make = arith.FPToUIOp if target.kind == "unsigned" else arith.FPToSIOp
        return [*conversion_path(source, F32 if source.bits == 16 else source), (make, target)]
    if target.is_float:
        make = arith.SIToFPOp if source.kind == "signed" else arith.UIToFPOp
        wide = F32 if target.bits == 16 else target
        return [(make, wide), *conversion_path(wide, target)]
    if source.bits > target.bits:
        return [(arith.TruncIOp, target)]
    return [(arith.ExtSIOp if source.kind == "signed" else arith.ExtUIOp, target)]
