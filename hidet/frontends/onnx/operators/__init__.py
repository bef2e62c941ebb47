"""The rows of the table, by family; importing this module adds all of them."""

from importlib import import_module
from pkgutil import iter_modules

from hidet.frontends.onnx.table import find

FAMILIES = [import_module(f"{__name__}.{info.name}") for info in iter_modules(__path__)]
"""The modules of this package."""

__all__ = ["FAMILIES", "find"]
