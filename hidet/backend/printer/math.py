"""How operations of `math` print: calls of functions of the device header, most of one name.

The table goes by names, so that kernels without mathematics need not load the dialect.
"""

from hidet.backend.printer.operators import ExpressionPrinter, FloatCall, IntegerCall

_SAME_NAME = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf exp exp2 expm1 floor "
    "log log10 log1p log2 rsqrt sin sinh sqrt tan tanh trunc"
)

EXPRESSIONS: dict[str, ExpressionPrinter] = {
    **{f"math.{name}": FloatCall(name) for name in _SAME_NAME.split()},
    "math.absf": FloatCall("abs"),
    "math.absi": IntegerCall("abs"),
    "math.fma": FloatCall("fma"),
    "math.ipowi": IntegerCall("ipow"),
    "math.powf": FloatCall("pow"),
    # hidet::round rounds half to even, as torch.round does; math.round does not.
    "math.roundeven": FloatCall("round"),
}
"""How each operation of `math` prints as an expression, by its name."""
