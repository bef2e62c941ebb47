"""Each name of the original Hidet is here, or the documentation and the error say what to use.

`hidet_names.txt` lists the names, by where the original has them.
"""

import importlib
import re
import sys
from collections import defaultdict
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType

import pytest
import torch

import hidet
from hidet.absent import ABSENT, PRIMITIVES, instead_of
from hidet.absent_modules import ABSENT_IN, ABSENT_MODULES
from hidet.driver.script import CompiledModule
from hidet.errors import MissingMemberError, MissingNameError
from hidet.lang import spatial

NAMES = Path(__file__).with_name("hidet_names.txt").read_text()
ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "script" / "hidet.md"
TABLE, _, OUTSIDE = (
    PAGE.read_text().partition("| --- | --- |\n")[2].partition("## Outside of scripts\n")
)
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
            value, error = getattr(here, name), None
        except AttributeError as raised:
            value, error = None, raised
        is_module = isinstance(value, ModuleType) and path != "hidet"
        exists = value is not None and (not is_module or name in MODULES)
        is_listed = any(fnmatchcase(name, pattern) for pattern in PATTERNS)
        if exists:
            assert is_listed <= (name in ELSEWHERE), f"{path}.{name} is there: strike it"
            continue
        if isinstance(here, ModuleType) and not is_module:
            silent = f"{path}.{name} fails without saying what to use"
            assert isinstance(error, MissingMemberError), silent
            assert error.hint is not None
        owner_name = here.__name__ if isinstance(here, ModuleType | type) else type(here).__name__
        hint = instead_of(name, owner_name) or ABSENT_MODULES.get(path)
        assert is_listed or hint, f"{path}.{name} is not there, and {PAGE.name} does not say so"


def rows_outside():
    """Give the rows of the table of what is not about scripts, from the tables of the package."""
    modules = defaultdict(list)
    for path, hint in ABSENT_MODULES.items():
        modules[hint].append(path)
    for hint, paths in modules.items():
        yield f"| {', '.join(f'`{path}`' for path in paths)} | all | {hint} |"
    for path, table in ABSENT_IN.items():
        for names, hint in table.items():
            owners = ", ".join(f"`{each}`" for each in path.split())
            yield f"| {owners} | {', '.join(f'`{name}`' for name in names.split())} | {hint} |"


def test_the_page_lists_what_is_not_about_scripts():
    """The page has the tables of the package, line for line."""
    shown = [line for line in OUTSIDE.splitlines() if line.startswith("| `")]
    assert shown == list(rows_outside())


def test_absent_modules_are_no_files():
    """No module that is here has been declared absent."""
    for path in ABSENT_MODULES:
        assert sys.modules[path].__spec__ is None, path
        assert not ROOT.joinpath(*path.split(".")).with_suffix(".py").exists(), path
        assert not ROOT.joinpath(*path.split(".")).exists(), path


def test_members():
    """A method that is not there says what to use; to ask whether it is there goes as ever."""
    x = hidet.ones([2])
    with pytest.raises(MissingMemberError, match=r"a Tensor has no 'hip'\n  hint: x\.cuda\(\)"):
        x.hip()
    with pytest.raises(MissingMemberError, match=r"hint: mapping\.project\(dims\)"):
        spatial(4, 8).projection({0: 1})
    with pytest.raises(MissingMemberError, match="hint: nothing: attention is found"):
        hidet.torch.dynamo_config.use_attention(True)
    assert not hasattr(x, "hip_")
    with pytest.raises(AttributeError, match=r"a Tensor has no 'spin'$"):
        _ = x.spin


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
        "from hidet.drivers import build_task",
        "from hidet.driver import build_task_batch",
        "from hidet.option import parallel_k",
        "from hidet.cuda import memory_info",
        "from hidet.runtime import Storage",
    ],
)
def test_an_import_says_what_to_use(statement):
    """Wherever the original has the name."""
    name = statement.split()[-1]
    with pytest.raises(ImportError, match=rf"has no '{name}'\n  hint: .") as error:
        exec(statement)
    assert error.value.hint == instead_of(name, statement.split()[1])


@pytest.mark.parametrize(
    "statement",
    [
        "from hidet.nn import Linear",
        "import hidet.nn as nn",
        "from hidet import nn",
        "import hidet.nn; hidet.nn.Linear",
        "from hidet.lang.cpu import avx_f32x4_load",
        "from hidet.ir.cute.ops import mma",
        "from hidet.cuda.graph import CudaGraph",
        "from hidet.cuda import graph",
        "from hidet.graph.transforms import GraphPass",
    ],
)
def test_a_module_says_what_to_use(statement):
    """A module of the original that is not there, however it is imported."""
    with pytest.raises((MissingNameError, MissingMemberError)) as error:
        exec(statement)
    assert isinstance(error.value, MissingMemberError) is (";" in statement)
    assert error.value.hint in ABSENT_MODULES.values()


def test_who_looks_into_all_modules_is_not_disturbed():
    """To ask for an attribute goes as ever: pickle looks a name up in all that is loaded."""
    assert not hasattr(hidet, "nn")
    assert not hasattr(sys.modules["hidet.nn"], "Linear")
    for module in list(sys.modules.values()):
        if module.__name__.startswith("hidet"):
            assert getattr(module, "Module", None) in (None, torch.nn.Module)


def test_the_table_lists_names_of_the_original():
    """No line of the table is about a name that the original does not have."""
    known = set(NAMES.replace(":", " ").split())
    for pattern in PATTERNS:
        names = [name for name in known if fnmatchcase(name, pattern)]
        assert names, f"{pattern} is no name of the original that the test knows"
