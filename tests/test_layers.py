"""Which packages of hidet may import which: downwards only, and no cycle between packages."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

LAYERS = {
    "deferred_formats": "",
    "loading": "deferred_formats",
    "pass_options": "",
    "program_text": "",
    "errors": "",
    "escape": "",
    "foreign": "",
    "forks": "",
    "limits": "errors",
    "absent": "errors",
    "option": "absent errors",
    "tracebacks": "errors option",
    "universe": "loading",
    "mapping": "absent errors",
    "arch": "errors mapping",
    "dialects": "arch errors escape mapping",
    "analysis": "arch dialects errors",
    "legality": "analysis arch dialects errors mapping",
    "rewriting": "analysis dialects mapping",
    "frontends.script": (
        "absent analysis arch dialects errors escape legality loading mapping rewriting "
        "tracebacks universe"
    ),
    "original": "absent",
    "lang": "absent arch frontends.script loading mapping original",
    "utils": "absent errors foreign original",
    "lowering.templates": "analysis arch dialects errors frontends.script lang mapping rewriting",
    "context": "universe",
    "lowering": (
        "analysis arch dialects errors frontends.script legality loading "
        "lowering.templates mapping option pass_options rewriting universe"
    ),
    "backend": "absent arch dialects errors escape forks limits",
    "runtime": "absent arch errors forks option",
    "tuning": "analysis arch backend context dialects errors lowering lowering.templates runtime",
    "driver": (
        "absent analysis arch backend context dialects errors escape foreign forks "
        "frontends.script legality limits loading lowering option pass_options runtime tracebacks "
        "tuning utils"
    ),
    "frontends.torch": (
        "absent dialects driver errors frontends.script lang limits loading option runtime"
    ),
    "frontends.resizing": "errors",
    "frontends.trace": (
        "absent context dialects driver errors foreign frontends.resizing frontends.script "
        "frontends.torch lowering runtime utils"
    ),
    "frontends.onnx": "errors frontends.resizing",
    "tensor": "absent errors foreign frontends.script frontends.torch frontends.trace",
    "ops": "absent frontends.trace tensor",
    "graph": (
        "absent context dialects driver errors foreign frontends.onnx frontends.torch "
        "frontends.trace ops program_text runtime tensor"
    ),
    "tools": (
        "arch backend context dialects driver errors frontends.script frontends.torch graph "
        "legality limits lowering mapping option program_text tuning universe utils"
    ),
    "testing": "absent dialects driver errors frontends.script mapping option tools",
    "ir": "absent frontends.script lang original",
    "drivers": "absent driver",
    "torch": "absent frontends.torch",
    "cuda": "absent original runtime",
}
"""What each package may import. `hidet` itself, which hands out names, may import all of them."""


def package_of(module):
    """Return the package of a module, by its name in the table."""
    parts = module.split(".")[1:]
    for count in (2, 1):
        name = ".".join(parts[:count])
        if name in LAYERS and len(parts) >= count:
            return name
    return None


def imported_by(path):
    """Give the modules of hidet that a file imports, also inside of functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from names if node.module == "hidet" else [node.module]
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@cache
def edges():
    """Return for each pair of packages one import of the second by the first."""
    found = defaultdict(dict)
    for path in sorted((ROOT / "hidet").rglob("*.py")):
        own = package_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
        if own is None:
            continue
        for module in imported_by(path):
            other = package_of(module) if module.startswith("hidet.") else None
            if other is not None and other != own:
                found[own].setdefault(other, f"{path.relative_to(ROOT)} imports {module}")
    return found


@pytest.mark.parametrize("package", LAYERS)
def test_imports(package):
    """A package imports what lies below it."""
    allowed = LAYERS[package].split()
    assert not [where for other, where in edges()[package].items() if other not in allowed]


def test_no_cycle():
    """The table has an order: each package is listed after those that it may import."""
    known = set()
    for package, others in LAYERS.items():
        assert set(others.split()) <= known, f"{package} stands above what it imports"
        known.add(package)


def test_every_package_is_in_the_table():
    names = {path.stem for path in (ROOT / "hidet").iterdir() if path.name[0] not in "_."}
    packages = {name.partition(".")[0] for name in LAYERS}
    assert names - packages <= {"py"}
