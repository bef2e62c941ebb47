"""Prints operations of `math`, as calls of functions of the device header.

The table is keyed by names, so that kernels without `math` need not import the dialect.
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
    # hidet::round rounds half to even, like torch.round; math.round does not.
    "math.roundeven": FloatCall("round"),
}
"""The printers of `math`, by name."""
