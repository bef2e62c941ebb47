"""Each name of the original Hidet that concerns scripts is here, or the documentation says why not.

`hidet_names.txt` lists the names, by where the original has them.
"""

import importlib
import re
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType

import pytest

from hidet.absent import ABSENT, PRIMITIVES, instead_of
from hidet.driver.script import CompiledModule
from hidet.errors import MissingNameError

NAMES = Path(__file__).with_name("hidet_names.txt").read_text()
PAGE = Path(__file__).parents[3] / "docs" / "script" / "hidet.md"
TABLE = PAGE.read_text().partition("| --- | --- |\n")[2]
PATTERNS = [
    pattern
    for line in TABLE.splitlines()
    if line.startswith("|")
    for pattern in re.findall(r"`([\w*]+)`", line.split("|")[1])
]
"""The first column of the table of what is not there."""

MODULES = ("layout", "mapping", "meta", "types")
"""Names that are modules in the original too; any other module only shadows a function."""

ELSEWHERE = ("lop3", "prmt", "cp_async", "define_global_var", "permute", "reshape")
"""Names in the table that are there in another module, or are there to be refused."""


def owner(path):
    """Return what a dotted path names, an instance for `f()`; None where there is no such thing."""
    if path == "CompiledModule":
        return CompiledModule
    if path.endswith("()"):
        return owner(path[:-2])()
    try:
        return importlib.import_module(path)
    except ImportError:
        outer, _, last = path.rpartition(".")
        return getattr(owner(outer), last, None) if outer else None


def blocks():
    """Give each owner with its names."""
    for line in NAMES.replace("\n    ", " ").splitlines():
        path, _, names = line.partition(": ")
        yield pytest.param(path, names.split(), id=path)


@pytest.mark.parametrize(("path", "names"), list(blocks()))
def test_names(path, names):
    """A name exists, or says what to use, or stands in the table of those that do not."""
    here = owner(path)
    for name in names:
        try:
            value = getattr(here, name, None)
        except MissingNameError:  # which says what to use instead
            value = None
        exists = value is not None and (not isinstance(value, ModuleType) or name in MODULES)
        is_listed = any(fnmatchcase(name, pattern) for pattern in PATTERNS)
        if not exists:
            assert is_listed, f"{path}.{name} is not there, and {PAGE.name} does not say so"
        elif name not in ELSEWHERE:
            assert not is_listed, f"{path}.{name} is there: strike it from {PAGE.name}"


def test_absent_names_are_those_of_the_original():
    """No message is about a name that the original does not have, or that stands in no table."""
    known = set(NAMES.replace(":", " ").split())
    for pattern in " ".join(ABSENT.keys() - PRIMITIVES.keys()).split():
        names = [name for name in known if fnmatchcase(name, pattern) and instead_of(name)]
        assert names, f"{pattern} is no name of the original that the test knows"
        listed = [any(fnmatchcase(name, each) for each in PATTERNS) for name in names]
        assert any(listed), pattern


@pytest.mark.parametrize(
    "statement",
    [
        "from hidet import symbol_var",
        "from hidet.lang import asm",
        "from hidet.lang import u4",
        "from hidet.lang.types import i4",
        "from hidet.ir.expr import Constant",
        "from hidet.ir.dtypes import float8_e4m3",
        "from hidet.ir.stmt import BlackBoxStmt",
        "from hidet.ir.builders import StmtBuilder",
    ],
)
def test_an_import_says_what_to_use(statement):
    """Wherever the original has the name."""
    name = statement.split()[-1]
    with pytest.raises(ImportError, match=rf"has no '{name}'\n  hint: .") as error:
        exec(statement)
    assert error.value.hint == instead_of(name)


def test_the_table_lists_names_of_the_original():
    """No line of the table is about a name that the original does not have."""
    known = set(NAMES.replace(":", " ").split())
    for pattern in PATTERNS:
        names = [name for name in known if fnmatchcase(name, pattern)]
        assert names, f"{pattern} is no name of the original that the test knows"
