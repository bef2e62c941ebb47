"""Mathematics in scripts; Python's `math.exp`, `max`, `min`, `abs`, `round` mean these there."""

# ruff: noqa: F403

from hidet.frontends.script.math_functions import *
from hidet.frontends.script.math_functions import __all__ as __all__
