"""The operators and functions of scripts, as tables from their names to operations of the IR."""

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects import arith, memref
from xdsl.ir import Block, Operation, SSAValue

from hidet.analysis.memory import is_arithmetic
from hidet.dialects.cuda.arithmetic import FloorModOp
from hidet.dialects.cuda.attributes import is_variable
from hidet.frontends.script.types import F32, I32, I64, ScalarType

Binary = Callable[[SSAValue, SSAValue], Operation]
"""Makes an operation of two operands."""


def mathematics(name: str) -> Callable[..., Operation]:
    """Return what makes the operation of `math` whose class has this name.

    The dialect is loaded when a script needs it first.
    """

    def make(*operands: SSAValue) -> Operation:
        from xdsl.dialects import math

        return getattr(math, name)(*operands)

    return make


@dataclass(frozen=True)
class Operator:
    """An arithmetic operator: the operation for each kind of numbers, None where there is none."""

    floats: Binary | None
    signed: Binary | None
    unsigned: Binary | None
    booleans: Binary | None = None


ARITHMETIC: dict[str, Operator] = {
    "+": Operator(arith.AddfOp, arith.AddiOp, arith.AddiOp),
    "-": Operator(arith.SubfOp, arith.SubiOp, arith.SubiOp),
    "*": Operator(arith.MulfOp, arith.MuliOp, arith.MuliOp),
    # `/` of integers divides as in CUDA, towards zero; `//` and `%` as in Python, down.
    "/": Operator(arith.DivfOp, arith.DivSIOp, arith.DivUIOp),
    "//": Operator(None, arith.FloorDivSIOp, arith.DivUIOp),
    "%": Operator(None, FloorModOp, arith.RemUIOp),
    "**": Operator(mathematics("PowFOp"), None, None),
    "<<": Operator(None, arith.ShLIOp, arith.ShLIOp),
    ">>": Operator(None, arith.ShRSIOp, arith.ShRUIOp),
    "&": Operator(None, arith.AndIOp, arith.AndIOp, arith.AndIOp),
    "|": Operator(None, arith.OrIOp, arith.OrIOp, arith.OrIOp),
    "^": Operator(None, arith.XOrIOp, arith.XOrIOp, arith.XOrIOp),
    # CUDA's fmaxf and fminf: a number wins over NaN.
    "max": Operator(arith.MaxnumfOp, arith.MaxSIOp, arith.MaxUIOp),
    "min": Operator(arith.MinnumfOp, arith.MinSIOp, arith.MinUIOp),
    "atan2": Operator(mathematics("Atan2Op"), None, None),
    "copysign": Operator(mathematics("CopySignOp"), None, None),
}
"""Operators whose result has the type of their operands."""

HINTS = {
    "//": "divide floats with /",
    "%": "the remainder is one of integers; of floats it is math.fmod(a, b)",
    "**": "multiply integers, or convert one of them: f32(a) ** b",
}
"""What would be right where an operator has no operation for a kind of numbers."""


@dataclass(frozen=True)
class Comparison:
    """A comparison: the predicate of `arith.cmpf`, and of `arith.cmpi` by sign."""

    floats: str
    signed: str
    unsigned: str


COMPARISONS: dict[str, Comparison] = {
    "==": Comparison("oeq", "eq", "eq"),
    "!=": Comparison("une", "ne", "ne"),
    "<": Comparison("olt", "slt", "ult"),
    "<=": Comparison("ole", "sle", "ule"),
    ">": Comparison("ogt", "sgt", "ugt"),
    ">=": Comparison("oge", "sge", "uge"),
}
"""Comparisons; with NaN only `!=` is true."""

_FUNCTIONS = (
    "AbsF Acos Acosh Asin Asinh Atan Atanh Cbrt Ceil Cos Cosh Erf Exp Exp2 ExpM1 Floor Log Log10 "
    "Log1p Log2 RoundEven Rsqrt Sin Sinh Sqrt Tan Tanh Trunc"
)

FUNCTIONS: dict[str, Callable[[SSAValue], Operation]] = {
    name.removesuffix("F").removesuffix("Even").lower(): mathematics(f"{name}Op")
    for name in _FUNCTIONS.split()
}
"""Functions of one float, which is also the type of their result."""


def is_cheap(block: Block) -> bool:
    """Return whether an arm only computes, so that it may be executed in any case."""
    return all(
        (is_arithmetic(op) and not isinstance(op, _DIVISIONS))
        or (isinstance(op, memref.LoadOp) and is_variable(op.memref))
        for op in block.ops
    )


_DIVISIONS = (
    arith.DivSIOp | arith.DivUIOp | arith.FloorDivSIOp | FloorModOp | arith.RemSIOp | arith.RemUIOp
)

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
