"""The command `hidet`."""

import os
import re
import time

import pytest

import hidet
from hidet.backend.cache import Store, artifact_key
from hidet.backend.toolchains import nvcc
from hidet.tools import cli


def test_version(capsys):
    """--version tells the version."""
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])
    assert not caught.value.code
    assert capsys.readouterr().out == f"hidet {hidet.__version__}\n"


def test_no_command(capsys):
    """Without a command the commands are told."""
    with pytest.raises(SystemExit) as caught:
        cli.main([])
    assert caught.value.code == 2
    assert "{cache,script,tune,bench,compile,run,profile,option,new,env}" in capsys.readouterr().err


def test_option(capsys):
    """`hidet option` tells every option."""
    assert cli.main(["option"]) == 0
    assert "search_space = 0  (default)" in capsys.readouterr().out


def env_rows(capsys):
    """Run `hidet env`; give what it says, by name."""
    assert cli.main(["env"]) == 0
    return dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())


def test_env(capsys, tmp_path, monkeypatch):
    """`hidet env` tells what a bug report needs."""
    monkeypatch.setenv("HIDET_CACHE_DIR", str(tmp_path))
    rows = env_rows(capsys)
    assert rows["hidet"] == hidet.__version__
    assert rows["xdsl"].startswith("0.74.")
    assert {"Python", "torch", "numpy", "cuda-python", "nvcc"} <= set(rows)
    assert re.search(r"g\+\+.*, .*\d+\.\d+", rows["g++"])
    assert rows["processor"].endswith(f"{len(os.sched_getaffinity(0))} cores")
    assert rows["cache"] == f"{tmp_path}, 0.0 MB"


def test_env_without_compilers(capsys, tmp_path, monkeypatch):
    """A compiler that is missing is told as missing, and the rest is told all the same."""
    for variable in ("CXX", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(nvcc, "_places", lambda: iter(()))
    rows = env_rows(capsys)
    assert rows["g++"] == "no g++ found: looked for 'g++' in PATH"
    assert rows["nvcc"] == "no nvcc found: looked in PATH"
    assert "torch" in rows


def test_bad_option_value(capsys, monkeypatch):
    """An error is told without a traceback, and fails the command."""
    monkeypatch.setenv("HIDET_TARGET", "tpu")
    assert cli.main(["option"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("hidet: option 'target' cannot be 'tpu'")
    assert "environment variable HIDET_TARGET" in error


@pytest.fixture
def cache(tmp_path):
    """A cache with two binaries and a program."""
    store = Store(tmp_path / "cache")
    meta = {"kernels": 2, "target": "sm_90a"}
    for name in ("add", "mul"):
        key = artifact_key(name, "")
        store.kernels.put(key, {"kernel.so": bytes(2_000_000)}, {"name": name})
    store.programs.put(artifact_key("program", ""), {"plan.json": b"{}"}, meta)
    return store


def run_cache(capsys, store, command):
    """Run `hidet cache show` or `clear`; give the lines that it prints."""
    assert cli.main(["cache", command, "--root", str(store.folder.root)]) == 0
    return capsys.readouterr().out.splitlines()


def test_cache_show(capsys, cache):
    """What the cache holds, and what was used last, first."""
    used = artifact_key("add", "")
    age = time.time() + 60
    os.utime(cache.kernels.entry(used).path / "entry.json", (age, age))
    folder, kernels, programs, winners, traces, total, *latest = run_cache(capsys, cache, "show")
    assert folder == str(cache.folder.root)
    assert kernels.split() == ["kernels", "2", "entries", "4.00", "MB"]
    assert programs.split() == ["programs", "1", "entries", "0.00", "MB"]
    assert winners.split() == ["winners", "0", "entries", "0.00", "MB"]
    assert traces.split() == ["traces", "0", "entries", "0.00", "MB"]
    assert total.split() == ["total", "3", "entries", "4.00", "MB"]
    assert len(latest) == 3
    assert latest[0].split()[2:] == ["kernels", used[:12], "2.00", "MB", "add"]
    assert any(line.endswith("MB  2 kernels for sm_90a") for line in latest)


def test_cache_show_with_damage(capsys, cache):
    """An entry that is damaged is shown as such."""
    os.truncate(cache.kernels.entry(artifact_key("add", "")).path / "kernel.so", 5)
    assert any("kernel.so has 5 bytes" in line for line in run_cache(capsys, cache, "show"))


def test_cache_clear(capsys, cache):
    """What was removed is told, and is gone."""
    root = cache.folder.root
    assert run_cache(capsys, cache, "clear") == [f"removed 3 entries, 4.00 MB, from {root}"]
    assert cache.entries() == []
    assert run_cache(capsys, cache, "clear") == [f"removed 0 entries, 0.00 MB, from {root}"]


@pytest.mark.parametrize("command", ["show", "clear"])
def test_cache_that_is_not_there(capsys, tmp_path, command):
    """A cache that was never used is empty, and is not made by looking at it."""
    assert str(tmp_path / "cache") in run_cache(capsys, Store(tmp_path / "cache"), command)[0]
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("command", ["show", "clear"])
def test_cache_that_others_can_write(capsys, tmp_path, command):
    """It is refused, with what to do."""
    tmp_path.chmod(0o777)
    assert cli.main(["cache", command, "--root", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("hidet: others can write to the cache folder (mode 777)")
    assert f"hint: run: chmod go-w '{tmp_path}'" in error
