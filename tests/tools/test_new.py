"""`hidet new`: what it writes into a checkout passes the tests of the checkout at once."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hidet.tools import cli

ROOT = Path(__file__).parents[2]
COPIED = ("hidet", "lit_tests", "tests", "pyproject.toml", "CHANGELOG.md", "README.md")
NEW = {
    "pass drop-double-negations": "lit_tests/lowering/cuda/drop_double_negations.mlir",
    "pass park-tiles --stage task": "lit_tests/lowering/task/park_tiles.mlir",
    "pass fold-views --stage compute": "lit_tests/lowering/compute/fold_views.mlir",
    "op task.park": "lit_tests/dialects/task/park_verify.mlir",
    "op cuda.park_word --operand integer": "lit_tests/dialects/cuda/park_word_verify.mlir",
    "op cuda.park_it": "lit_tests/dialects/cuda/park_it.mlir",
    "instruction fdim --operands 2": "lit_tests/frontends/script/fdim.py",
    "instruction park": "lit_tests/frontends/script/park.py",
    "operator hypot": "lit_tests/dialects/graph/hypot.mlir",
    "operator asinh": "lit_tests/dialects/graph/asinh.mlir",
    "operator logaddexp --operands 2": "lit_tests/dialects/graph/logaddexp.mlir",
}
"""Arguments of `hidet new`, and a file that they make."""
STRUCK = ("AsinhOp", "HypotOp")
"""Operators with a scalar function: the copy is without them, so that they are new."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the checkout."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    path = folder / "hidet" / "dialects" / "graph" / "elementwise.py"
    for row in STRUCK:
        text, count = re.subn(rf"^{row} = \w+\((?:.*|\n.*\n)\)\n", "", path.read_text(), flags=re.M)
        assert count == 1
        path.write_text(text)
    return folder


def run(folder, *command, status=0):
    """Run a module of Python in a copy, which is what it imports; give its output."""
    result = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == status, result.stdout[-4000:] + result.stderr
    return result.stdout


def contents(folder):
    """The files of the package, with what stands in them."""
    kinds = (".py", ".h", ".cuh")
    files = [path for path in (folder / "hidet").rglob("*") if path.suffix in kinds]
    return {path: path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def grown(copy):
    """The copy with all that is new, and the files of the package that each command changed."""
    changed = {}
    for arguments, made in NEW.items():
        before = contents(copy)
        told = run(copy, "hidet.tools.cli", "new", *arguments.split()).splitlines()
        assert made in told
        after = contents(copy)
        assert any(line.startswith("  - run: .venv/bin/pytest lit_tests/") for line in told)
        files = {str(path.relative_to(copy)) for path in after if after[path] != before.get(path)}
        assert files == {path for path in told if path.startswith("hidet/")}
        changed[arguments] = files
    return copy, changed


@pytest.mark.slow
def test_few_files_change(grown):
    """One declaration has nearly all of it."""
    most = {"pass": 2, "op": 1, "operator": 3, "instruction": 2}
    for arguments, files in grown[1].items():
        assert len(files) <= most[arguments.split()[0]]


@pytest.mark.slow
def test_operators_that_torch_decomposes_are_kept(grown):
    """Else they would never reach the importer; others need no such line."""
    copy, changed = grown
    path = "hidet/frontends/torch/decompositions.py"
    assert path in changed["operator logaddexp --operands 2"]
    assert path not in changed["operator asinh"]
    assert "\n    aten.logaddexp: " in (copy / path).read_text()


@pytest.mark.slow
def test_passes_stand_with_those_of_their_stage(grown):
    """In the registry, and as passes on kernels where the others are."""
    registry = (grown[0] / "hidet" / "universe.py").read_text()
    for stage, name in {
        "compute": "fold-views",
        "task": "park-tiles",
        "cuda": "drop-double-negations",
    }.items():
        passes, _, _ = registry.partition(f'"{stage}": """')[2].partition('"""')
        assert passes.split()[-1] == name
        file = grown[0] / "hidet" / "lowering" / stage / f"{name.replace('-', '_')}.py"
        assert ("(KernelPass):" in file.read_text()) == (stage != "compute")


@pytest.mark.slow
def test_entries_of_the_changelog(grown):
    """Each is in the section of its kind."""
    sections = (grown[0] / "CHANGELOG.md").read_text().split("\n### ")
    entries = {
        "PyTorch": "- The operator `logaddexp`.",
        "Scripts": "- `hidet.lang.math.fdim`.",
        "The compiler": "- The pass `park-tiles`.",
    }
    for title, entry in entries.items():
        (section,) = (each for each in sections if each.startswith(f"{title}\n"))
        assert entry in section.splitlines()


@pytest.mark.slow
def test_everything_new_passes_its_tests(grown):
    """The style, the registry and the lit tests of all that is new."""
    copy, _ = grown
    run(copy, "ruff", "check", "hidet")
    run(copy, "ruff", "format", "--check", "hidet")
    tables = ["tests/test_registry.py", "tests/dialects/test_graph.py"]
    slower = "--deselect=tests/test_registry.py::test_each_can_be_the_first"
    run(copy, "pytest", "-q", slower, *tables, *NEW.values())


@pytest.mark.slow
def test_numbers_of_everything_new(grown):
    """Tests that walk tables compare what is new with a reference."""
    copy, _ = grown
    elements = [
        "tests/lowering/graph/test_elementwise.py",
        "tests/frontends/torch/test_operators.py",
    ]
    run(copy, "pytest", "-q", *elements, "-k", "hypot or asinh or every_operator")
    # What its author has to write is missed.
    run(copy, "pytest", "-q", *elements, "-k", "logaddexp", status=1)
    scripts = ["test_scalar_functions.py", "test_constructs.py"]
    run(copy, "pytest", "-q", *(f"tests/frontends/script/{name}" for name in scripts))


def test_commands_of_the_guide():
    """What CONTRIBUTING.md says is among what is tested here."""
    lines = (ROOT / "CONTRIBUTING.md").read_text().splitlines()
    shown = {line.removeprefix("hidet new ") for line in lines if line.startswith("hidet new ")}
    assert shown
    assert shown <= set(NEW)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("pass fuse", "there is a pass 'fuse' already"),
        ("pass fold_casts", "a name looks like 'fold-casts'"),
        ("op tusk.copy", "there is no dialect 'tusk', only graph"),
        ("op graph.hypot", "use: hidet new operator hypot"),
        ("op task.group", "there is such a file already"),
        ("instruction exp", "there is a function 'exp' already"),
        ("instruction hypot", "there is a function 'hypot' already"),
        ("operator exp", "there is an operator 'graph.exp' already"),
        ("operator nosuchthing", "PyTorch has no operator 'aten.nosuchthing'"),
        ("operator digamma", "hidet decomposes 'aten.digamma' into other operators"),
        ("operator hypot --operands 1", "the scalar function 'hypot' takes 2 numbers, not 1"),
    ],
)
def test_mistakes(copy, arguments, message, capsys):
    """What cannot be is refused, and nothing is written."""
    before = contents(copy)
    assert cli.main(["new", *arguments.split(), "--root", str(copy)]) == 1
    assert message in capsys.readouterr().err
    assert contents(copy) == before


def test_needs_a_checkout(tmp_path, capsys):
    """Files are written into a checkout only."""
    assert cli.main(["new", "op", "task.park", "--root", str(tmp_path)]) == 1
    assert "give --root" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
