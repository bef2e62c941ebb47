"""Limits of the process: what runs out is named, and everything works when the limit is gone."""

import errno
import io
import os
import subprocess
import sys

import pytest
import torch

import hidet
from hidet.errors import ResourceError
from hidet.limits import resource_errors
from hidet.lowering.compute.fuse import FusePass
from hidet.tools import hidet_opt

UNDER_LIMIT = """
import os, sys, tempfile
from resource import RLIMIT_FSIZE, RLIMIT_NOFILE, getrlimit, setrlimit

import torch

import hidet
from hidet.backend.toolchains import base, gxx
from hidet.errors import HidetError

x = torch.randn(8)
function = lambda x: x.sin() * 3
hidet.compile(lambda x: x + 1, x)  # loads all modules
if sys.argv[1] == "unknown":
    tempfile.tempdir = None
    base.compiler_version.cache_clear()
    gxx._check_version.cache_clear()
limit = RLIMIT_NOFILE if sys.argv[2] == "files" else RLIMIT_FSIZE
before = getrlimit(limit)
open_files = len(os.listdir("/proc/self/fd")) - 1
setrlimit(limit, (open_files + int(sys.argv[3]) if limit == RLIMIT_NOFILE else 0, before[1]))
try:
    hidet.compile(function, x)
except HidetError as error:
    message = f"{type(error).__name__}: {error}"
setrlimit(limit, before)
print(message)
torch.testing.assert_close(hidet.compile(function, x)(x), function(x))
print([name for name in os.listdir(tempfile.gettempdir()) if name.startswith("hidet")])
"""


@pytest.mark.parametrize("compiler", ["known", "unknown"])
@pytest.mark.parametrize("limit", ["files 0", "size 0"])
@pytest.mark.sample(1)
def test_files_run_out(tmp_path, compiler, limit):
    """An error of hidet names the limit; the next call, without it, succeeds."""
    (tmp_path / "temporary").mkdir()
    result = subprocess.run(
        [sys.executable, "-c", UNDER_LIMIT, compiler, *limit.split()],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={
            **os.environ,
            "HIDET_CACHE_DIR": str(tmp_path / "cache"),
            "TMPDIR": str(tmp_path / "temporary"),
        },
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(("ResourceError: ", "CompilationError: "))
    assert ("ulimit -n" if "files" in limit else "ulimit -f") in result.stdout
    assert result.stdout.endswith("\n[]\n")


def test_memory_runs_out(monkeypatch, tmp_path):
    """It is an error of hidet, from a pass too; the next call succeeds."""
    x = torch.randn(3, 5)

    def double(x):
        return (x + x).sum(0)

    def fail(*_):
        raise MemoryError

    with monkeypatch.context() as patch, hidet.option.context(cache_dir=tmp_path):
        patch.setattr(FusePass, "apply", fail)
        with pytest.raises(ResourceError, match="out of memory") as caught:
            hidet.compile(double, x)
    assert "ulimit -v" in caught.value.hint
    torch.testing.assert_close(hidet.compile(double, x)(x), double(x))


def test_memory_runs_out_in_a_tool(monkeypatch, capsys):
    """The tool says so, without a traceback."""

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(FusePass, "apply", fail)
    assert hidet_opt.main(["-p", "fuse"], io.BytesIO(b"module {}")) == 1
    assert "out of memory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RuntimeError("can't start new thread"), "ulimit -u"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "ulimit -v"),
        (FileNotFoundError(errno.ENOENT, "No usable temporary directory"), "ulimit -n"),
    ],
)
def test_what_runs_out(error, message):
    """Each limit has its hint."""
    with pytest.raises(ResourceError, match=message), resource_errors("it fails"):
        raise error


def test_other_errors():
    """Errors with other reasons stay as they are."""
    for error in (RuntimeError("x"), FileNotFoundError(errno.ENOENT, "No such file"), KeyError(1)):
        with pytest.raises(type(error)) as caught, resource_errors("it fails"):
            raise error
        assert caught.value is error
