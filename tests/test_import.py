"""`import hidet` costs little, and meets what else is installed."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import hidet

ROOT = Path(__file__).parents[1]


def run_python(code, *folders):
    """Run Python in a process of its own, with the folders and this checkout on its path."""
    path = os.pathsep.join(map(str, [*folders, ROOT]))
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_import_loads_nothing_heavy():
    """torch, xDSL and CUDA come in when they are needed."""
    result = run_python("import sys, hidet; print(*{name.split('.')[0] for name in sys.modules})")
    assert result.returncode == 0, result.stderr
    loaded = set(result.stdout.split())
    assert "hidet" in loaded
    assert loaded.isdisjoint({"torch", "xdsl", "cuda", "numpy", "filecheck", "pytest"})


def test_options_load_nothing_heavy():
    """The options are plain Python."""
    result = run_python("import sys, hidet; hidet.option.describe(); print(*sys.modules)")
    assert result.returncode == 0, result.stderr
    assert {"torch", "xdsl", "cuda"}.isdisjoint(result.stdout.split())


def test_script_loads_no_dynamo(tmp_path):
    """A script is built and called without what only torch.compile, or an empty cache, needs."""
    path = tmp_path / "script.py"
    path.write_text(
        """
import sys
import torch
import hidet
from hidet.lang import attrs, f32

with hidet.script_module() as module:
    @hidet.script
    def kernel(x: f32[8]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        x[0] = 3.0

x = torch.zeros(8)
module.build()(x)
assert x[0] == 3
print(*sys.modules)
"""
    )
    for _ in range(2):
        result = run_python(f"import runpy; runpy.run_path({str(path)!r})")
        assert result.returncode == 0, result.stderr
        loaded = set(result.stdout.split())
        assert loaded.isdisjoint({"torch._dynamo", "torch._inductor", "sympy", "statistics"})
    # Warm: no format of an operation is read, and no dialect loaded that the kernel does not use.
    absent = {
        "filelock",
        "hidet.dialects.graph",
        "hidet.lowering.templates.matmul",
        "xdsl.dialects.math",
        "xdsl.irdl.declarative_assembly_format_parser",
        "xdsl.targets.mlir",
    }
    assert loaded.isdisjoint(absent)


def test_second_start_of_torch_compile():
    """It loads neither the compiler, with its IR, nor what of inductor traces and prints graphs."""
    program = (
        "import sys, torch\n"
        "x = torch.ones(4, requires_grad=True)\n"
        "torch.compile(lambda x: x.erf().sum(), backend='hidet')(x).backward()\n"
        "print(*sys.modules)"
    )
    for _ in range(2):
        result = run_python(program)
        assert result.returncode == 0, result.stderr
        loaded = set(result.stdout.split())
    absent = {
        "xdsl",
        "hidet.dialects",
        "hidet.frontends.torch.decomposed",
        "torch._inductor.debug",
        "torch._inductor.lowering",
    }
    assert loaded.isdisjoint(absent)


def test_products_of_warp_groups_are_made_when_they_are_asked_for():
    """There are 96, with fragments that are large in memory."""
    result = run_python(
        "import hidet.lang; from hidet.arch.hopper import WGMMA, _wgmma;"
        "print(_wgmma.cache_info().currsize, len(WGMMA));"
        "assert all(WGMMA[name].name == name for name in WGMMA)"
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["0", "96"]


def test_hidet_opt_loads_no_torch():
    """hidet-opt starts without torch."""
    result = run_python("import sys, hidet.tools.hidet_opt; print(*sys.modules)")
    assert result.returncode == 0, result.stderr
    assert {"torch", "cuda"}.isdisjoint(result.stdout.split())


@pytest.mark.parametrize("name", hidet.__all__)
def test_public_names_load(name):
    """Every name that `hidet` promises is there."""
    assert getattr(hidet, name) is not None
    assert name in dir(hidet)


def test_public_names_are_those_of_the_table():
    """What star imports and type checkers see is what can be loaded."""
    assert set(hidet.__all__) == {"__version__", *hidet._PUBLIC_NAMES}


def test_unknown_name():
    """A name that is not promised is an AttributeError, as for any module."""
    with pytest.raises(AttributeError, match="module 'hidet' has no attribute 'no_such_name'"):
        _ = hidet.no_such_name


def test_original_hidet_installed(tmp_path):
    """Where the original hidet is installed too, the import says what to uninstall."""
    folder = tmp_path / "hidet-0.6.1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: hidet\nVersion: 0.6.1\n")
    result = run_python("import hidet", tmp_path)
    assert result.returncode != 0
    assert "ConflictingPackageError" in result.stderr
    assert "'hidet' (0.6.1) and 'hidet-xdsl'" in result.stderr
    assert "hint: keep one of them: `pip uninstall hidet" in result.stderr


def test_version_is_that_of_the_distribution():
    """The installed metadata and the package tell the same version."""
    metadata = importlib.import_module("importlib.metadata")
    try:
        installed = metadata.version("hidet-xdsl")
    except metadata.PackageNotFoundError:
        pytest.skip("used from a checkout that is not installed")
    assert installed == hidet.__version__
