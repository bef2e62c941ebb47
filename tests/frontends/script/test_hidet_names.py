"""Each name of the original Hidet exists, or an error says what to use.

`hidet_names.txt` lists the names, by where the original has them.
"""

import importlib
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType

import pytest
import torch

import hidet
from hidet.absent import ANY_MODULE, absent_modules, hints, instead_of
from hidet.driver.script import CompiledModule
from hidet.errors import MissingMemberError, MissingNameError
from hidet.lang import spatial

NAMES = Path(__file__).with_name("hidet_names.txt").read_text()
PRIMITIVES = Path(__file__).with_name("primitives.txt").read_text()
ROOT = Path(__file__).parents[3]

MODULES = ("layout", "mapping", "meta", "types")
"""Names that are modules in the original too; any other module only shadows a function."""


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
    """Return each owner with its names."""
    for line in NAMES.replace("\n    ", " ").splitlines():
        path, _, names = line.partition(": ")
        yield pytest.param(path, names.split(), id=path)


@pytest.mark.parametrize(("path", "names"), list(blocks()))
def test_names(path, names):
    """A name exists, or its error says what to use."""
    here = owner(path)
    for name in names:
        try:
            value, error = getattr(here, name), None
        except AttributeError as raised:
            value, error = None, raised
        is_module = isinstance(value, ModuleType) and path != "hidet"
        if value is not None and (not is_module or name in MODULES):
            continue
        if isinstance(here, ModuleType) and not is_module:
            silent = f"{path}.{name} fails without saying what to use"
            assert isinstance(error, MissingMemberError), silent
            assert error.hint is not None
        classes = here.__mro__ if isinstance(here, type) else type(here).__mro__
        owners = (path, *(each.__name__ for each in classes), ANY_MODULE)
        assert instead_of(name, *owners), f"{path}.{name} is not explained"


def test_absent_modules_are_no_files():
    """No module that is here has been declared absent."""
    for path in absent_modules():
        assert sys.modules[path].__spec__ is None, path
        assert not ROOT.joinpath(*path.split(".")).with_suffix(".py").exists(), path
        assert not ROOT.joinpath(*path.split(".")).exists(), path


def test_members():
    """A missing method raises a hint; `hasattr` works as usual."""
    x = hidet.ones([2])
    with pytest.raises(MissingMemberError, match=r"a Tensor has no 'hip'\n  hint: x\.cuda\(\)"):
        x.hip()
    with pytest.raises(MissingMemberError, match=r"hint: mapping\.project\(dims\)"):
        spatial(4, 8).projection({0: 1})
    with pytest.raises(MissingMemberError, match="hint: nothing: attention is always recognized"):
        hidet.torch.dynamo_config.use_attention(True)
    assert not hasattr(x, "hip_")
    with pytest.raises(AttributeError, match=r"a Tensor has no 'spin'$"):
        _ = x.spin


def test_absent_names_are_those_of_the_original():
    """No row is about a name that the original does not have, or that exists in `hidet.lang`."""
    known = set(NAMES.replace(":", " ").split()) | {
        line.partition("(")[0] for line in PRIMITIVES.splitlines()
    }
    for pattern in hints()[ANY_MODULE]:
        assert any(fnmatchcase(name, pattern) for name in known), pattern
        for module in (hidet.lang, hidet.lang.cuda):
            assert not any(fnmatchcase(name, pattern) for name in module.__all__), pattern


@pytest.mark.parametrize(
    "statement",
    [
        "from hidet.lang import asm",
        "from hidet.lang import u4",
        "from hidet.lang.types import i4",
        "from hidet.ir.expr import Constant",
        "from hidet.ir.dtypes import float8_e4m3",
        "from hidet.ir.stmt import BlackBoxStmt",
        "from hidet.ir.builders import StmtBuilder",
        "from hidet.drivers import build_task",
        "from hidet.driver import build_task_batch",
        "from hidet.option import hexcute_matmul",
        "from hidet.cuda import memory_info",
        "from hidet.runtime import Storage",
    ],
)
def test_an_import_says_what_to_use(statement):
    """Wherever the original has the name."""
    name = statement.split()[-1]
    with pytest.raises(ImportError, match=rf"has no '{name}'\n  hint: .") as error:
        exec(statement)
    assert error.value.hint == instead_of(name, statement.split()[1], ANY_MODULE)


@pytest.mark.parametrize(
    "statement",
    [
        "from hidet.nn import Linear",
        "import hidet.nn as nn",
        "from hidet import nn",
        "import hidet.nn; hidet.nn.Linear",
        "from hidet.lang.cpu import avx_f32x4_load",
        "from hidet.ir.cute.ops import mma",
        "from hidet.graph.transforms import GraphPass",
    ],
)
def test_a_module_says_what_to_use(statement):
    """A module of the original that is not there, however it is imported."""
    with pytest.raises((MissingNameError, MissingMemberError)) as error:
        exec(statement)
    assert isinstance(error.value, MissingMemberError) is (";" in statement)
    assert error.value.hint in [hints()[path]["*"] for path in absent_modules()]


def test_who_looks_into_all_modules_is_not_disturbed():
    """To ask for an attribute goes as ever: pickle looks a name up in all that is loaded."""
    assert not hasattr(hidet, "nn")
    assert not hasattr(sys.modules["hidet.nn"], "Linear")
    for module in list(sys.modules.values()):
        if module.__name__.startswith("hidet"):
            assert getattr(module, "Module", None) in (None, torch.nn.Module)
