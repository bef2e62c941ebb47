"""The functions of `hidet.lang.math`, by name."""

from collections.abc import Callable
from typing import Any

from hidet.arch.functions import FLOAT_FUNCTIONS
from hidet.frontends.script.builtins import (
    ELEMENTARY,
    absolute,
    atan2,
    fma,
    maximum,
    minimum,
    power,
    rounded,
)
from hidet.frontends.script.scalar_functions import copysign, degrees, radians, scalar_function

MATH_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **ELEMENTARY,
    # Of scripts: what Python's `math.gamma(x)`, `math.remainder(x, y)` mean there as well.
    **{name: scalar_function(name) for name in FLOAT_FUNCTIONS},
    "abs": absolute,
    "atan2": atan2,
    "copysign": copysign,
    "degrees": degrees,
    "fma": fma,
    "max": maximum,
    "min": minimum,
    "pow": power,
    "radians": radians,
    "round": rounded,
}
"""All of them: what the tables of functions have, and what takes more than one operation."""
