"""Modules of the original Hidet that only re-export names.

    from hidet.ir.primitives.cuda.mma import MmaConfig      # defined in hidet.lang.cuda

`hidet.ir` and `hidet.lang` create them by `show_elsewhere`. New programs import from `hidet.lang`.
"""

import sys
from collections.abc import Iterable, Mapping
from types import ModuleType

from hidet.absent import finder


def show_elsewhere(package: str, table: Mapping[str, Iterable[str]]) -> None:
    """Create modules inside of a package that re-export names of others.

    The table maps the path of each module below the package to the modules that it re-exports; the
    first that has a name wins. A module follows its parent.
    """
    for path, sources in table.items():
        name = f"{package}.{path}"
        module = ModuleType(name, f"Shows names of {', '.join(sources)}; see `hidet.original`.")
        module.__dict__["__getattr__"] = finder(name, tuple(sources))
        module.__dict__["__path__"] = []
        sys.modules[name] = module
        parent, _, last = name.rpartition(".")
        # A re-exported name takes precedence over a submodule: `lop3` is a function.
        if "__getattr__" not in vars(sys.modules[parent]):
            setattr(sys.modules[parent], last, module)
