"""Every construct of the language has a FileCheck test, from Python to each dialect and to CUDA."""

import importlib.util
from pathlib import Path

import pytest

from hidet import lang
from hidet.errors import HidetError
from hidet.tools.script_file import check_script_file, print_modules, read_script_file

FOLDER = Path(__file__).parents[3] / "lit_tests" / "frontends" / "script"

specification = importlib.util.spec_from_file_location(
    "constructs", Path(__file__).with_name("constructs.py")
)
constructs = importlib.util.module_from_spec(specification)
specification.loader.exec_module(constructs)

HOW = """
These constructs of the language have no FileCheck test:

    {names}

Write a statement that uses each into a file of lit_tests/frontends/script, a new one or one of
its kind, with comments right above that say what it becomes at every level:

    # IR:     cuda.sync_threads
    # SOURCE: hidet::sync_threads();
    syncthreads()

IR is for all levels of the IR; TASK, CUDA and FINAL are for one each. What there is to match is
printed by `hidet script FILE --level task` (or cuda, final, source), and `pytest FILE` matches.
More in docs/write-a-lowering-test.md, section "From Python".
"""


@pytest.fixture(scope="module")
def tested():
    """The constructs that are tested."""
    return set().union(*(constructs.tested_constructs(path) for path in FOLDER.glob("*.py")))


def test_every_construct_has_a_filecheck_test(tested):
    """A construct without comments for every level right above a use of it fails."""
    missing = [name for name in constructs.all_constructs() if name not in tested]
    assert not missing, HOW.format(names="\n    ".join(missing))


SCRIPT = """
import hidet
from hidet.lang import attrs, f32, fancy
from hidet.lang.cuda import threadIdx

with hidet.script_module() as module:

    @hidet.script
    def kernel(x: f32[32]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        # IR: arith.mulf
        # SOURCE: * 2.0f
        x[threadIdx.x] = fancy(x[threadIdx.x]) * 2
"""


def test_what_counts_as_tested(tmp_path, monkeypatch):
    """A new function is a construct, and is tested where comments for all levels precede it."""
    monkeypatch.setattr(lang, "fancy", lambda value: value + 1, raising=False)
    monkeypatch.setattr(lang, "__all__", [*lang.__all__, "fancy"])
    path = tmp_path / "script.py"
    name = "hidet.lang.fancy"
    assert name in constructs.all_constructs()
    path.write_text(SCRIPT)
    found = constructs.tested_constructs(path)
    assert {name, "syntax Mult", "syntax Assign", "hidet.lang.cuda.threadIdx"} <= found
    assert not {"syntax Add", "attribute cuda_grid_dim", "hidet.lang.f32"} & found
    path.write_text(SCRIPT.replace("# SOURCE", "# a comment"))
    assert name not in constructs.tested_constructs(path)
    path.write_text(SCRIPT.replace("# IR", "# TASK"))
    assert name not in constructs.tested_constructs(path)


def test_script_file(tmp_path, monkeypatch):
    """Comments are matched at their level; what does not match is told with the level."""
    monkeypatch.setattr(lang, "fancy", lambda value: value + 1, raising=False)
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    check_script_file(path)
    modules = read_script_file(path)
    assert "const int tid = threadIdx.x;" in print_modules(modules, "source")
    assert "cuda.formed" in print_modules(modules, "final")
    for wrong, level in (("SOURCE", "source"), ("IR", "task"), ("FINAL", "final")):
        path.write_text(SCRIPT + f"        # {wrong}: nowhere\n")
        with pytest.raises(HidetError, match=f"--level {level}"):
            check_script_file(path)
    path.write_text("")
    with pytest.raises(HidetError, match="no script module among its global names"):
        check_script_file(path)
