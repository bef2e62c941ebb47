"""The operators of `hidet.ops`; each is a function of torch tensors."""

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

FAMILIES = [import_module(f"{__name__}.{info.name}") for info in iter_modules(__path__)]

OPERATORS: dict[str, Callable[..., Any]] = {
    name: value
    for family in FAMILIES
    for name, value in vars(family).items()
    if hasattr(value, "__wrapped__") and value.__name__ == name  # not an alias
}
