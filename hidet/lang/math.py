"""Mathematics in scripts; Python's `math.exp`, `max`, `min`, `abs`, `round` mean these there."""

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
erfc, fmod, gamma, hypot = map(scalar_function, ("erfc", "fmod", "gamma", "hypot"))
ieee_remainder = scalar_function("ieee_remainder")
isfinite, isinf, isnan = map(scalar_function, ("isfinite", "isinf", "isnan"))
ldexp, lgamma, nextafter = map(scalar_function, ("ldexp", "lgamma", "nextafter"))

acos, asin, atan, acosh = map(ELEMENTARY.__getitem__, ("acos", "asin", "atan", "acosh"))
asinh, atanh, cbrt, ceil = map(ELEMENTARY.__getitem__, ("asinh", "atanh", "cbrt", "ceil"))
cos, cosh, erf, exp = map(ELEMENTARY.__getitem__, ("cos", "cosh", "erf", "exp"))
exp2, expm1, floor, log = map(ELEMENTARY.__getitem__, ("exp2", "expm1", "floor", "log"))
log10, log1p, log2, rsqrt = map(ELEMENTARY.__getitem__, ("log10", "log1p", "log2", "rsqrt"))
sin, sinh, sqrt, tan = map(ELEMENTARY.__getitem__, ("sin", "sinh", "sqrt", "tan"))
tanh, trunc = map(ELEMENTARY.__getitem__, ("tanh", "trunc"))

__all__: list[str] = ["abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt"]
__all__ += ["ceil"]
__all__ += ["copysign", "cos", "cosh", "degrees", "erf", "erfc", "exp", "exp2", "expm1", "floor"]
__all__ += ["fma", "fmod", "gamma", "hypot", "ieee_remainder", "isfinite", "isinf", "isnan"]
__all__ += ["ldexp", "lgamma", "log", "log1p", "log2", "log10", "max", "min", "nextafter", "pow"]
__all__ += ["radians", "round", "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"]
