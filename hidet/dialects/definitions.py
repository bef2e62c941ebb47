"""What a dialect is made of: all that the modules of its package define."""

from collections.abc import Iterator
from importlib import import_module
from inspect import isclass
from pkgutil import iter_modules

from xdsl.ir import Attribute, Dialect, Operation


def _classes(package: str) -> Iterator[type]:
    """Give the classes that the modules of a package define."""
    path = import_module(package).__path__
    for info in sorted(iter_modules(path, f"{package}."), key=lambda info: info.name):
        for found in vars(import_module(info.name)).values():
            # What several are made from has no name.
            if isclass(found) and found.__module__ == info.name and getattr(found, "name", ""):
                yield found


def dialect_of(package: str) -> Dialect:
    """Return the dialect whose operations, attributes and types the modules of a package define.

    A new file of the package is part of its dialect.

    Args:
        package: the name of the package, of which the last part names the dialect.
    """
    found = list(_classes(package))
    return Dialect(
        package.rpartition(".")[2],
        # `issubclass` would ask all classes that are derived from these.
        [each for each in found if Operation in each.__mro__],
        [each for each in found if Attribute in each.__mro__],
    )
