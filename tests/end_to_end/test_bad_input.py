"""What users meet through torch.compile when something is wrong: a clear message, or a recovery.

The parts have tests of their own; these hold that their words arrive at the top.
"""

import errno
import os
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch._dynamo.exc import BackendCompilerFailed
from xdsl.parser import Parser

import hidet
from hidet.backend.cache import CacheWarning
from hidet.backend.toolchains import nvcc
from hidet.context import make_context
from hidet.driver import compile_graph
from hidet.errors import (
    CacheError,
    CompilationError,
    CompilerNotFoundError,
    PassError,
    ScheduleError,
    UnsupportedDtypeError,
    UnsupportedOperatorError,
)
from hidet.frontends.torch.partition import UnsupportedOperatorWarning
from hidet.lowering.task import schedule
from hidet.testing.numeric import assert_close
from hidet.tools import hidet_opt

ROOT = Path(hidet.__file__).parents[1]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Start without compiled graphs and with an empty cache; give its folder."""
    torch._dynamo.reset()
    root = tmp_path / "cache"
    monkeypatch.setenv("HIDET_CACHE_DIR", str(root))
    return root


class Model(nn.Module):
    """A layer, then what a test wants to see."""

    def __init__(self, last=torch.relu):
        super().__init__()
        self.layer = nn.Linear(8, 5)
        self.last = last

    def forward(self, x):
        return self.last(self.layer(x))


def check(model, **options):
    """Compile a model and compare a call of it with float64."""
    x = torch.randn(3, 8)
    with torch.no_grad():
        y = torch.compile(model, backend="hidet", options=options or None)(x)
        assert_close(y, model.double()(x.double()), tolerance=1e-5)


def failure_of(model, **options):
    """Give the error of the backend, after a check that torch's own message shows all of it."""
    with torch.no_grad(), pytest.raises(BackendCompilerFailed) as failure:
        torch.compile(model, backend="hidet", options=options or None)(torch.randn(3, 8))
    error = failure.value.inner_exception
    assert str(error) in str(failure.value)
    return error


# ---- programs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "operator", "reason"),
    [
        (
            lambda x: torch.linalg.ldl_factor_ex(x @ x.T)[0],
            "aten.linalg_ldl_factor_ex.default",
            "it has no translation",
        ),
        (lambda x: (x * 2j).real, "aten.mul.Tensor", "torch.complex64 is not supported"),
    ],
    ids=["operator", "dtype"],
)
def test_unsupported_is_left_to_eager_torch(last, operator, reason):
    """The rest is compiled, and one warning names the operator, the line and the reason."""
    with pytest.warns(UnsupportedOperatorWarning) as caught:
        check(Model(last))
    (message,) = [str(w.message) for w in caught if w.category is UnsupportedOperatorWarning]
    assert operator in message
    assert reason in message
    assert "test_bad_input.py:" in message


@pytest.mark.parametrize(
    ("last", "error_class", "reason"),
    [
        (
            lambda x: torch.linalg.ldl_factor_ex(x @ x.T)[0],
            UnsupportedOperatorError,
            "it has no translation",
        ),
        (lambda x: (x * 2j).real, UnsupportedDtypeError, "torch.complex64 is not supported"),
    ],
    ids=["operator", "dtype"],
)
def test_unsupported_is_refused_on_request(last, error_class, reason, cache):
    error = failure_of(Model(last), fallback=False)
    assert type(error) is error_class
    assert reason in str(error)
    assert "test_bad_input.py:" in error.where
    assert not cache.exists()


def test_failing_pass(monkeypatch, capsys):
    """The message names pass and line, and a command that fails in the same way."""

    def choose(fusion, arch):
        raise ScheduleError("no schedule today")

    monkeypatch.setattr(schedule, "choose", choose)
    error = failure_of(Model())
    assert type(error) is PassError
    assert error.what == "pass 'schedule' failed: no schedule today"
    file, line = error.where.split(":")
    assert "self.last(self.layer(x))" in Path(file).read_text().splitlines()[int(line) - 1]
    command = shlex.split(error.hint.partition("to repeat it: ")[2])
    assert command[0] == "hidet-opt"
    assert hidet_opt.main(command[1:]) == 1
    assert "pass 'schedule' failed: no schedule today" in capsys.readouterr().err


# ---- compilers -----------------------------------------------------------------------------------


@pytest.fixture
def no_compiler(tmp_path, monkeypatch):
    """Hide g++ and nvcc."""
    for variable in ("CXX", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(nvcc, "_places", lambda: iter(()))


def test_no_gxx(no_compiler, cache):
    """The message says what is missing and how to install it, and nothing is left behind."""
    error = failure_of(Model())
    assert type(error) is CompilerNotFoundError
    assert error.what == "no g++ found: looked for 'g++' in PATH"
    assert "apt install g++" in error.hint
    assert not list(cache.rglob("*.json"))


def test_compiler_installed_afterwards(no_compiler, monkeypatch):
    """The same process goes on once the compiler is there."""
    failure_of(Model())
    monkeypatch.setenv("PATH", os.defpath)
    check(Model())


def test_no_nvcc(no_compiler, monkeypatch):
    """The same for a GPU, whose driver is not asked for more than its numbers."""
    text = "func.func @forward(%x : tensor<2xf32>) { func.return }"
    properties = SimpleNamespace(multi_processor_count=132, L2_cache_size=50 << 20)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    with pytest.raises(CompilerNotFoundError, match="no nvcc found") as caught:
        compile_graph(Parser(make_context(), text).parse_module(), device=torch.device("cuda", 0))
    assert "pip install 'hidet-xdsl[nvcc]'" in caught.value.hint


def test_failing_compiler(tmp_path, monkeypatch):
    """The message has the kernel, the compiler's words and the source, which is kept."""
    broken = tmp_path / "g++"
    real = shutil.which("g++")
    broken.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exec {real} --version\n'
        "echo 'internal compiler error: out of patience'; exit 4\n"
    )
    broken.chmod(0o755)
    monkeypatch.setenv("CXX", str(broken))
    error = failure_of(Model())
    assert type(error) is CompilationError
    assert error.what.startswith("kernel '")
    assert "(exit status 4)" in error.what
    assert "out of patience" in str(error)
    assert "__global__" in Path(error.source_path).read_text()
    monkeypatch.delenv("CXX")
    check(Model())


# ---- cache ---------------------------------------------------------------------------------------


def fill_disk(monkeypatch, *roots):
    """Let nothing more be written for good below some folders."""
    synchronise = os.fsync

    def full(descriptor):
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        if path.startswith(tuple(map(str, roots))):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        synchronise(descriptor)

    monkeypatch.setattr(os, "fsync", full)


def test_full_disk(cache, monkeypatch):
    """The model runs, after one warning that says what is the matter."""
    fill_disk(monkeypatch, cache)
    with pytest.warns(CacheWarning, match="No space left on device") as caught:
        check(Model())
    assert len([w for w in caught if w.category is CacheWarning]) == 1


def test_no_room_anywhere(cache, tmp_path, monkeypatch):
    """So it does where the temporary folder is full as well: memory holds what is compiled."""
    fill_disk(monkeypatch, cache, tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.warns(CacheWarning, match="No space left on device"):
        check(Model())


@pytest.mark.parametrize("suffix", [".so", "plan.json", "entry.json"])
def test_file_cut_in_half(cache, suffix):
    """It is made again, with a warning; then all is as before."""
    check(Model())
    files = [path for path in cache.rglob("*") if path.name.endswith(suffix)]
    assert files
    for path in files:
        content = path.read_bytes()
        path.unlink()  # this process has mapped the library; it keeps the old file
        path.write_bytes(content[: len(content) // 2])
    torch._dynamo.reset()
    with pytest.warns(CacheWarning):
        check(Model())
    torch._dynamo.reset()
    check(Model())  # would fail, since warnings are errors in tests
    assert hidet.torch.compiled_graphs()[-1].report.cached


def test_cache_of_somebody_else(cache):
    """A folder that others can write to is refused, with the command that helps."""
    cache.mkdir()
    cache.chmod(0o777)
    error = failure_of(Model())
    assert type(error) is CacheError
    assert f"chmod go-w '{cache}'" in error.hint


# ---- packages ------------------------------------------------------------------------------------


def test_original_hidet_beside_ours(tmp_path):
    """torch finds the backend through its entry point; what `import hidet` refuses arrives."""
    if not entry_points(group="torch_dynamo_backends", name="hidet"):
        pytest.skip("used from a checkout that is not installed")
    folder = tmp_path / "hidet-0.6.1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: hidet\nVersion: 0.6.1\n")
    code = "import torch; torch.compile(torch.relu, backend='hidet')(torch.ones(1))"
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode != 0
    assert "ConflictingPackageError: the distributions 'hidet' (0.6.1) and" in result.stderr
