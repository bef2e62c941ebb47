"""The operators of `hidet.ops`, by family: each is a function of torch's tensors."""

from collections.abc import Callable
from typing import Any

from hidet.frontends.trace.operators import (
    activation,
    arithmetic,
    compare,
    contraction,
    einops,
    image,
    normalize,
    pool,
    quant,
    reduce,
    scatter,
    transform,
)

FAMILIES = (
    activation,
    arithmetic,
    compare,
    contraction,
    einops,
    image,
    normalize,
    pool,
    quant,
    reduce,
    scatter,
    transform,
)

OPERATORS: dict[str, Callable[..., Any]] = {
    name: value
    for family in FAMILIES
    for name, value in vars(family).items()
    if hasattr(value, "__wrapped__")
}
"""All operators by name."""
