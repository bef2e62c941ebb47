"""The functions of `hidet.lang.math`."""

from hidet.frontends.script.builtins import (
    ELEMENTARY,
    atan2,
    fma,
)
from hidet.frontends.script.builtins import absolute as abs
from hidet.frontends.script.builtins import maximum as max
from hidet.frontends.script.builtins import minimum as min
from hidet.frontends.script.builtins import power as pow
from hidet.frontends.script.builtins import rounded as round
from hidet.frontends.script.scalar_functions import copysign, degrees, radians, scalar_function

# Of scripts: what Python's `math.gamma(x)`, `math.remainder(x, y)` mean there as well.
erfc = scalar_function("erfc")
fmod = scalar_function("fmod")
gamma = scalar_function("gamma")
hypot = scalar_function("hypot")
ieee_remainder = scalar_function("ieee_remainder")
isfinite = scalar_function("isfinite")
isinf = scalar_function("isinf")
isnan = scalar_function("isnan")
ldexp = scalar_function("ldexp")
lgamma = scalar_function("lgamma")
nextafter = scalar_function("nextafter")

acos = ELEMENTARY["acos"]
asin = ELEMENTARY["asin"]
atan = ELEMENTARY["atan"]
acosh = ELEMENTARY["acosh"]
asinh = ELEMENTARY["asinh"]
atanh = ELEMENTARY["atanh"]
cbrt = ELEMENTARY["cbrt"]
ceil = ELEMENTARY["ceil"]
cos = ELEMENTARY["cos"]
cosh = ELEMENTARY["cosh"]
erf = ELEMENTARY["erf"]
exp = ELEMENTARY["exp"]
exp2 = ELEMENTARY["exp2"]
expm1 = ELEMENTARY["expm1"]
floor = ELEMENTARY["floor"]
log = ELEMENTARY["log"]
log10 = ELEMENTARY["log10"]
log1p = ELEMENTARY["log1p"]
log2 = ELEMENTARY["log2"]
rsqrt = ELEMENTARY["rsqrt"]
sin = ELEMENTARY["sin"]
sinh = ELEMENTARY["sinh"]
sqrt = ELEMENTARY["sqrt"]
tan = ELEMENTARY["tan"]
tanh = ELEMENTARY["tanh"]
trunc = ELEMENTARY["trunc"]

__all__ = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "degrees",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "fma",
    "fmod",
    "gamma",
    "hypot",
    "ieee_remainder",
    "isfinite",
    "isinf",
    "isnan",
    "ldexp",
    "lgamma",
    "log",
    "log1p",
    "log2",
    "log10",
    "max",
    "min",
    "nextafter",
    "pow",
    "radians",
    "round",
    "rsqrt",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]
