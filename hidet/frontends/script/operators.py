"""The operators and functions of scripts, as tables from their names to operations of the IR."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects import arith, math, memref
from xdsl.ir import Block, Operation, SSAValue

from hidet.analysis.memory import is_arithmetic
from hidet.dialects.cuda.arithmetic import FloorModOp
from hidet.dialects.cuda.attributes import is_variable

Binary = Callable[[SSAValue, SSAValue], Operation]
"""Makes an operation of two operands."""


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
    "**": Operator(math.PowFOp, None, None),
    "<<": Operator(None, arith.ShLIOp, arith.ShLIOp),
    ">>": Operator(None, arith.ShRSIOp, arith.ShRUIOp),
    "&": Operator(None, arith.AndIOp, arith.AndIOp, arith.AndIOp),
    "|": Operator(None, arith.OrIOp, arith.OrIOp, arith.OrIOp),
    "^": Operator(None, arith.XOrIOp, arith.XOrIOp, arith.XOrIOp),
    # CUDA's fmaxf and fminf: a number wins over NaN.
    "max": Operator(arith.MaxnumfOp, arith.MaxSIOp, arith.MaxUIOp),
    "min": Operator(arith.MinnumfOp, arith.MinSIOp, arith.MinUIOp),
    "atan2": Operator(math.Atan2Op, None, None),
    "copysign": Operator(math.CopySignOp, None, None),
}
"""Operators whose result has the type of their operands."""

HINTS = {
    "//": "divide floats with /",
    "%": "the remainder is one of integers",
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

_PAIRS = [("eq", "ne"), ("slt", "sge"), ("sgt", "sle"), ("ult", "uge"), ("ugt", "ule")]
OPPOSITES = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
"""For each predicate of `arith.cmpi` its opposite."""

FUNCTIONS: dict[str, Callable[[SSAValue], Operation]] = {
    "abs": math.AbsFOp,
    "acos": math.AcosOp,
    "acosh": math.AcoshOp,
    "asin": math.AsinOp,
    "asinh": math.AsinhOp,
    "atan": math.AtanOp,
    "atanh": math.AtanhOp,
    "cbrt": math.CbrtOp,
    "ceil": math.CeilOp,
    "cos": math.CosOp,
    "cosh": math.CoshOp,
    "erf": math.ErfOp,
    "exp": math.ExpOp,
    "exp2": math.Exp2Op,
    "expm1": math.ExpM1Op,
    "floor": math.FloorOp,
    "log": math.LogOp,
    "log10": math.Log10Op,
    "log1p": math.Log1pOp,
    "log2": math.Log2Op,
    "round": math.RoundEvenOp,
    "rsqrt": math.RsqrtOp,
    "sin": math.SinOp,
    "sinh": math.SinhOp,
    "sqrt": math.SqrtOp,
    "tan": math.TanOp,
    "tanh": math.TanhOp,
    "trunc": math.TruncOp,
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
