"""The registry is complete: what is in the package is registered, documented and tested."""

import importlib
import importlib.util
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import RewritePattern
from xdsl.universe import XDSL_UNIVERSE, Universe

from hidet.universe import DIALECTS, HIDET_UNIVERSE, PASSES, TARGETS, load

ROOT = Path(__file__).parents[1]
LIT_TESTS = ROOT / "lit_tests"


def has_own_docstring(cls):
    """Tell whether a class has a docstring that someone wrote; dataclasses make one up."""
    doc = cls.__dict__.get("__doc__")
    return bool(doc) and not doc.startswith(f"{cls.__name__}(")


def classes_in_lowering(base):
    """Give the concrete subclasses of `base` that the modules of hidet.lowering define."""
    if importlib.util.find_spec("hidet.lowering") is None:
        return []
    package = importlib.import_module("hidet.lowering")
    modules = [
        importlib.import_module(info.name)
        for info in pkgutil.walk_packages(package.__path__, "hidet.lowering.")
    ]
    return [
        cls
        for module in modules
        for _, cls in inspect.getmembers(module, inspect.isclass)
        if issubclass(cls, base) and cls.__module__ == module.__name__
        if not inspect.isabstract(cls)
    ]


def load_all(table):
    """Load what a table registers and is there; what is not there fails in `test_loads`."""
    loaded = {}
    for name, path in table.items():
        try:
            loaded[name] = load(path)
        except (ImportError, AttributeError):
            continue
    return loaded


OPERATIONS = [op for dialect in load_all(DIALECTS).values() for op in dialect.operations]
ATTRIBUTES = [attr for dialect in load_all(DIALECTS).values() for attr in dialect.attributes]
# A leading underscore marks what passes share.
PASS_CLASSES = [cls for cls in classes_in_lowering(ModulePass) if cls.__name__[0] != "_"]
PATTERNS = classes_in_lowering(RewritePattern)


@pytest.fixture(scope="module")
def lit_texts():
    """The text of the lit tests of each dialect, by its name."""
    return {
        name: "\n".join(
            path.read_text() for path in sorted((LIT_TESTS / "dialects" / name).rglob("*.mlir"))
        )
        for name in DIALECTS
    }


@pytest.mark.parametrize(
    ("name", "path"), [*DIALECTS.items(), *PASSES.items(), *TARGETS.items()], ids=str
)
def test_loads(name, path):
    """Every entry loads, and is registered under its own name."""
    assert load(path).name == name


def test_each_can_be_the_first():
    """Dialects and passes load in a process of `hidet-opt` that has loaded no other one."""
    # Of what they import, that of others is there already: it saves half of the time.
    code = """
import os
import sys
from xdsl.dialects import arith, func, math, memref, scf
from xdsl.transforms import canonicalize
from hidet.tools import hidet_opt
from hidet.universe import DIALECTS, PASSES, load

failed = []
for name, path in (DIALECTS | PASSES).items():
    child = os.fork()
    if child == 0:
        load(path)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        failed.append(name)
sys.exit(f"these need others: {failed}" if failed else 0)
"""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("path", DIALECTS.values())
def test_dialect_has_what_its_package_hands_out(path):
    """An operation that is made elsewhere than in a module of the package would be missed."""
    dialect = load(path)
    package = importlib.import_module(path.partition(":")[0])
    handed_out = {
        value
        for _, value in inspect.getmembers(package, inspect.isclass)
        if issubclass(value, Operation | Attribute)
        if getattr(value, "name", "").startswith(f"{dialect.name}.")
    }
    assert len(handed_out) > 1
    assert handed_out <= {*dialect.operations, *dialect.attributes}


@pytest.mark.parametrize("path", DIALECTS.values())
def test_dialect_has_a_docstring(path):
    """The module of a dialect says what the dialect is for."""
    assert importlib.import_module(path.partition(":")[0]).__doc__


@pytest.mark.parametrize("path", [*PASSES.values(), *TARGETS.values()])
def test_pass_or_target_has_a_docstring(path):
    """A pass says what it expects and leaves; a target what it prints."""
    assert has_own_docstring(load(path))


@pytest.mark.parametrize("cls", PASS_CLASSES, ids=lambda cls: cls.__name__)
def test_pass_is_registered(cls):
    """Every pass in hidet.lowering is in the table."""
    assert f"{cls.__module__}:{cls.__qualname__}" in PASSES.values()


@pytest.mark.parametrize("name", PASSES)
def test_pass_has_a_file_and_a_lit_test_of_its_name(name):
    """A reader who knows the name of a pass knows its file and its test."""
    module = PASSES[name].partition(":")[0]
    parts = module.split(".")
    assert parts[:2] == ["hidet", "lowering"]
    assert parts[-1] == name.replace("-", "_") or parts[2:] == ["pipelines"]
    lit_test = LIT_TESTS.joinpath(*parts[1:]).with_suffix(".mlir")
    assert lit_test.exists()
    assert re.search(rf"-p .*\b{name}\b", lit_test.read_text())


@pytest.mark.parametrize("cls", PATTERNS, ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
def test_pattern_has_a_docstring_and_a_test(cls):
    """A pattern says in a sentence what it rewrites, and stands beside a pass that has a test."""
    assert has_own_docstring(cls)
    tested_modules = {path.partition(":")[0] for path in PASSES.values()}
    if cls.__module__ not in tested_modules:
        tests = [*(ROOT / "tests").rglob("*.py"), *LIT_TESTS.rglob("*.mlir")]
        assert any(cls.__name__ in path.read_text() for path in tests)


@pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.name)
def test_operation_has_a_docstring_and_a_lit_test(op, lit_texts):
    """Every operation is described, and occurs in the lit tests of its dialect."""
    assert has_own_docstring(op)
    is_used = re.search(rf"(?<![\w.]){re.escape(op.name)}(?![\w.])", lit_texts[op.dialect_name()])
    assert is_used, f"use {op.name} in a file of lit_tests/dialects/{op.dialect_name()}/"


@pytest.mark.parametrize("attr", ATTRIBUTES, ids=lambda attr: attr.name)
def test_attribute_has_a_docstring_and_a_lit_test(attr, lit_texts):
    """Every attribute and type is described, and occurs in a lit test of a dialect."""
    assert has_own_docstring(attr)
    dialect, _, name = attr.name.partition(".")
    pattern = rf"[#!]{re.escape(dialect)}[.<]{re.escape(name)}(?![\w.])"
    # An enumeration is printed as its bare keyword where an operation holds it.
    keywords = "|".join(re.escape(str(key)) for key in getattr(attr, "enum_type", ()))
    if keywords:
        pattern += rf"|\b({keywords})\b"
    assert any(re.search(pattern, text) for text in lit_texts.values())


def test_texts_name_passes_that_exist():
    """Errors, docstrings and pages speak of no pass that is not in the registry."""
    tools = {"hidet-opt", "xdsl-opt", "hidet-xdsl"}
    pages = [*(ROOT / "hidet").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    named = re.compile(r"(?:`|\brun )([a-z]+(?:-[a-z]+)+)(?=`| first)")
    found = {name for page in pages for name in named.findall(page.read_text())}
    assert "decompose-graph" in found
    assert not found - {*PASSES, *tools}


def test_no_name_of_xdsl_is_taken():
    """A clash would break every xdsl-opt of the environment."""
    for kind in ("all_dialects", "all_passes", "all_targets"):
        assert not set(getattr(HIDET_UNIVERSE, kind)) & set(getattr(XDSL_UNIVERSE, kind))


def test_xdsl_sees_hidet():
    """xDSL's own tools find everything through the entry point."""
    try:
        version("hidet-xdsl")
    except PackageNotFoundError:
        pytest.skip("used from a checkout that is not installed: no entry points")
    seen = Universe.get_multiverse()
    assert set(DIALECTS) <= set(seen.all_dialects)
    assert set(PASSES) <= set(seen.all_passes)
    assert set(TARGETS) <= set(seen.all_targets)
