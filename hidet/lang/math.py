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

acos = ELEMENTARY["acos"]
asin = ELEMENTARY["asin"]
atan = ELEMENTARY["atan"]
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
    "asin",
    "atan",
    "atan2",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "fma",
    "log",
    "log1p",
    "log2",
    "log10",
    "max",
    "min",
    "pow",
    "round",
    "rsqrt",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]
