"""Modules of the original Hidet that are only names here, for programs that import from them.

    from hidet.ir.primitives.cuda.mma import MmaConfig      # defined in hidet.lang.cuda

`show_elsewhere` makes such modules. They define nothing; `hidet.ir` and `hidet.lang.constructs`
have tables of them. New programs import from `hidet.lang`.
"""

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType

from hidet.absent import missing


def show_elsewhere(package: str, table: Mapping[str, Iterable[str]]) -> None:
    """Make modules inside of a package that show the names of others.

    Args:
        package: the package.
        table: for the path of each module below the package the modules whose names it shows; the
            first that has a name wins. A module comes after the one that it is part of.
    """
    for path, sources in table.items():
        name = f"{package}.{path}"
        module = ModuleType(name, f"Shows names of {', '.join(sources)}; see `hidet.original`.")
        module.__dict__["__getattr__"] = _finder(name, tuple(sources))
        module.__dict__["__path__"] = []
        sys.modules[name] = module
        parent, _, last = name.rpartition(".")
        # A name that a module shows comes before one of a module below: `lop3` is a function.
        if "__getattr__" not in vars(sys.modules[parent]):
            setattr(sys.modules[parent], last, module)


def _finder(name: str, sources: tuple[str, ...]) -> Callable[[str], object]:
    """Return what looks a name up where it is defined."""

    def find(attribute: str) -> object:
        for source in sources:
            module = importlib.import_module(source)
            if attribute in module.__all__:
                return getattr(module, attribute)
        below = sys.modules.get(f"{name}.{attribute}")
        if below is None:
            raise missing(name, attribute, sources)
        return below

    return find
