"""Collection of a dialect's definitions from the modules of its package."""

from collections.abc import Iterator
from importlib import import_module
from inspect import isclass
from pkgutil import iter_modules

from xdsl.ir import Attribute, Dialect, Operation

from hidet.dialects.fields import cache_segments


def _classes(package: str) -> Iterator[type]:
    """Yield the classes that the modules of a package define."""
    path = import_module(package).__path__
    for info in sorted(iter_modules(path, f"{package}."), key=lambda info: info.name):
        for found in vars(import_module(info.name)).values():
            # Base classes have no name.
            if isclass(found) and found.__module__ == info.name and getattr(found, "name", ""):
                yield found


def dialect_of(package: str) -> Dialect:
    """Return the dialect of all ops, attributes and types in the modules of a package."""
    found = list(_classes(package))
    # faster than `issubclass`, which queries ABCs
    ops = [each for each in found if Operation in each.__mro__]
    for op in ops:
        cache_segments(op)
    attributes = [each for each in found if Attribute in each.__mro__]
    return Dialect(package.rpartition(".")[2], ops, attributes)
