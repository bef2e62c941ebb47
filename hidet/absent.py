"""Errors for names of the original Hidet that do not exist here, with hints from `absent.md`."""

import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from os.path import dirname, join
from types import ModuleType
from typing import NoReturn, TypeVar

from hidet.errors import MissingMemberError, MissingNameError

ANY_MODULE = "hidet.*"
"""The owner of names that every module may be asked for."""


@cache
def hints() -> dict[str, dict[str, str]]:
    """Return the hints of `absent.md`, by module or class and by pattern of names."""
    table: dict[str, dict[str, str]] = defaultdict(dict)
    with open(join(dirname(__file__), "absent.md"), encoding="utf-8") as file:
        rows = [line.strip("| \n").split(" | ", 2) for line in file if line.startswith("| `")]
    for owners, names, hint in rows:
        for owner in owners.replace("`", "").split(", "):
            table[owner].update(dict.fromkeys(names.replace("`", "").split(", "), hint))
    return dict(table)


def absent_modules() -> list[str]:
    """Return the modules that are absent as a whole."""
    return [owner for owner, names in hints().items() if "*" in names]


def instead_of(name: str, *owners: str) -> str | None:
    """Return what to use instead of a name of some modules or classes, None if no row matches."""
    for owner in owners:
        for pattern, hint in hints().get(owner, {}).items():
            if fnmatchcase(name, pattern):
                return hint
    modules = (hints().get(f"{owner}.{name}", {}) for owner in owners)
    return next((names["*"] for names in modules if "*" in names), None)


def _is_import(depth: int) -> bool:
    """Return whether the frame `depth` calls up executes `from module import name`."""
    from dis import opmap
    from inspect import currentframe

    frame = currentframe()
    for _ in range(depth):
        frame = frame and frame.f_back
    return frame is not None and frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]


def missing(module: str, name: str, sources: Sequence[str] = ()) -> Exception:
    """Return the error that the `__getattr__` of a module raises."""
    hint = instead_of(name, module, ANY_MODULE)
    if hint is not None:
        # `from module import name` drops the message of an AttributeError; `hasattr` and pickle,
        # which looks into every loaded module, expect one.
        error = MissingNameError if _is_import(depth=3) else MissingMemberError
        return error(f"{module} has no '{name}'", hint=hint)
    shows = f"; it re-exports {', '.join(sources)}" if sources else ""
    return AttributeError(f"module '{module}' has no attribute '{name}'{shows}")


def show_absent_modules() -> None:
    """Register the absent modules in `sys.modules`; using a name of theirs raises its hint."""
    for path in absent_modules():
        module = sys.modules[path] = ModuleType(path, "An absent module of the original Hidet.")
        module.__path__ = []
        module.__dict__["__getattr__"] = finder(path)


def explain_missing(module: str) -> None:
    """Give a module a `__getattr__` that raises hints; type checkers do not see it."""
    vars(sys.modules[module])["__getattr__"] = finder(module)


def finder(module: str, sources: Sequence[str] = ()) -> Callable[[str], object]:
    """Return the `__getattr__` of a module: names of others, else the error `missing`."""

    def find(name: str) -> object:
        if name.startswith("__"):  # Python itself probes for these, while sources are imported
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        for source in sources:
            found = import_module(source)
            if name in found.__all__:
                return getattr(found, name)
        below = sys.modules.get(f"{module}.{name}") if sources else None
        if below is None:
            raise missing(module, name, sources)
        return below

    return find


def missing_member(what: str, cls: str, name: str) -> AttributeError:
    """Return the error about a method or property that an object of a class lacks."""
    hint, text = instead_of(name, cls), f"{what} has no '{name}'"
    return AttributeError(text) if hint is None else MissingMemberError(text, hint=hint)


_Class = TypeVar("_Class", bound=type)


def explains_members(cls: _Class) -> _Class:
    """Give a class a `__getattr__` that raises hints for members of the original's class."""

    def find(self: object, name: str) -> NoReturn:
        raise missing_member(f"a {cls.__name__}", cls.__name__, name)

    cls.__getattr__ = find  # pyright: ignore[reportAttributeAccessIssue]
    return cls
