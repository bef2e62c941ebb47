"""Prints operations of `math`, as calls of functions of the device header.

The table is keyed by names, so that kernels without `math` need not import the dialect.
"""

from hidet.backend.printer.operators import Call, ExpressionPrinter

_SAME_NAME = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf exp exp2 expm1 floor "
    "log log10 log1p log2 rsqrt sin sinh sqrt tan tanh trunc"
)

EXPRESSIONS: dict[str, ExpressionPrinter] = {
    **{f"math.{name}": Call(name) for name in _SAME_NAME.split()},
    "math.absf": Call("abs"),
    "math.absi": Call("abs"),
    "math.fma": Call("fma"),
    "math.ipowi": Call("ipow"),
    "math.powf": Call("pow"),
    # hidet::round rounds half to even, like torch.round; math.round does not.
    "math.roundeven": Call("round"),
}
