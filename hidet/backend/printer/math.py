"""How operations of `math` print: calls of functions of the device header, most of one name."""

from __future__ import annotations

from xdsl.dialects import math
from xdsl.ir import Operation

from hidet.backend.printer.operators import ExpressionPrinter, FloatCall, IntegerCall

_FLOATS = math.FloatingPointLikeUnaryMathOperation, math.FloatingPointLikeBinaryMathOperation

EXPRESSIONS: dict[type[Operation], ExpressionPrinter] = {
    **{op: FloatCall(op.name[5:]) for op in math.Math.operations if issubclass(op, _FLOATS)},
    math.AbsFOp: FloatCall("abs"),
    math.AbsIOp: IntegerCall("abs"),
    math.FmaOp: FloatCall("fma"),
    math.IPowIOp: IntegerCall("ipow"),
    math.PowFOp: FloatCall("pow"),
    # hidet::round rounds half to even, as torch.round does; math.round does not.
    math.RoundEvenOp: FloatCall("round"),
}
"""How each operation of `math` prints as an expression."""

del EXPRESSIONS[math.RoundOp]
