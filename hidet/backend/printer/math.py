"""How operations of `math` print: calls of functions of the device header."""

from __future__ import annotations

from xdsl.dialects import math
from xdsl.ir import Operation

from hidet.backend.printer.operators import ExpressionPrinter, FloatCall, IntegerCall

EXPRESSIONS: dict[type[Operation], ExpressionPrinter] = {
    math.AbsFOp: FloatCall("abs"),
    math.AbsIOp: IntegerCall("abs"),
    math.AcosOp: FloatCall("acos"),
    math.AcoshOp: FloatCall("acosh"),
    math.AsinOp: FloatCall("asin"),
    math.AsinhOp: FloatCall("asinh"),
    math.AtanOp: FloatCall("atan"),
    math.Atan2Op: FloatCall("atan2"),
    math.AtanhOp: FloatCall("atanh"),
    math.CbrtOp: FloatCall("cbrt"),
    math.CeilOp: FloatCall("ceil"),
    math.CopySignOp: FloatCall("copysign"),
    math.CosOp: FloatCall("cos"),
    math.CoshOp: FloatCall("cosh"),
    math.ErfOp: FloatCall("erf"),
    math.ExpOp: FloatCall("exp"),
    math.Exp2Op: FloatCall("exp2"),
    math.ExpM1Op: FloatCall("expm1"),
    math.FloorOp: FloatCall("floor"),
    math.FmaOp: FloatCall("fma"),
    math.IPowIOp: IntegerCall("ipow"),
    math.LogOp: FloatCall("log"),
    math.Log10Op: FloatCall("log10"),
    math.Log1pOp: FloatCall("log1p"),
    math.Log2Op: FloatCall("log2"),
    math.PowFOp: FloatCall("pow"),
    # hidet::round rounds half to even, as torch.round does; math.round does not.
    math.RoundEvenOp: FloatCall("round"),
    math.RsqrtOp: FloatCall("rsqrt"),
    math.SinOp: FloatCall("sin"),
    math.SinhOp: FloatCall("sinh"),
    math.SqrtOp: FloatCall("sqrt"),
    math.TanOp: FloatCall("tan"),
    math.TanhOp: FloatCall("tanh"),
    math.TruncOp: FloatCall("trunc"),
}
"""How each operation of `math` prints as an expression."""
