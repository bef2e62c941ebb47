"""Modules of the original Hidet that only re-export names.

    from hidet.ir.primitives.cuda.mma import MmaConfig      # defined in hidet.lang.cuda

`hidet.ir` and `hidet.lang` create them by `show_elsewhere`. New programs import from `hidet.lang`.
"""

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType

from hidet.absent import missing


def show_elsewhere(package: str, table: Mapping[str, Iterable[str]]) -> None:
    """Create modules inside of a package that re-export names of others.

    The table maps the path of each module below the package to the modules that it re-exports; the
    first that has a name wins. A module follows its parent.
    """
    for path, sources in table.items():
        name = f"{package}.{path}"
        module = ModuleType(name, f"Shows names of {', '.join(sources)}; see `hidet.original`.")
        module.__dict__["__getattr__"] = _finder(name, tuple(sources))
        module.__dict__["__path__"] = []
        sys.modules[name] = module
        parent, _, last = name.rpartition(".")
        # A re-exported name takes precedence over a submodule: `lop3` is a function.
        if "__getattr__" not in vars(sys.modules[parent]):
            setattr(sys.modules[parent], last, module)


def _finder(name: str, sources: tuple[str, ...]) -> Callable[[str], object]:
    """Return the `__getattr__` of a module."""

    def find(attribute: str) -> object:
        if attribute.startswith("__"):  # Python itself probes for these, while sources are imported
            raise AttributeError(f"module '{name}' has no attribute '{attribute}'")
        for source in sources:
            module = importlib.import_module(source)
            if attribute in module.__all__:
                return getattr(module, attribute)
        below = sys.modules.get(f"{name}.{attribute}")
        if below is None:
            raise missing(name, attribute, sources)
        return below

    return find
