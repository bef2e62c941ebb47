"""Building kernels: once each, side by side, out of the cache, and when something is wrong."""

import errno
import io
import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hidet.backend.build import build_kernels
from hidet.backend.cache import CacheWarning, Store, artifact_key
from hidet.backend.toolchains import CompileReport, Gxx, KernelResources, Nvcc, Toolchain
from hidet.errors import CompilationError, CompilerNotFoundError

KERNEL = """#include "hidet.h"
extern "C" __global__ void __launch_bounds__(32) one(float* out) { out[threadIdx.x] = 1.0f; }
HIDET_KERNEL(one, 32, 1, 1, HIDET_INDEPENDENT)
"""


@dataclass
class CopyingToolchain(Toolchain):
    """A compiler whose binaries are the sources; it does what it is told meanwhile.

    Args:
        during: called with each source.
        version: decides over the fingerprint.
    """

    name = "copier"
    suffix = ".bin"
    source_suffix = ".txt"
    target = "paper"
    command = ("copier",)
    options = ()

    during: object = lambda source: None
    version: str = "1"
    compiled: list[str] = field(default_factory=list)

    def fingerprint(self):
        """The version is all that counts."""
        return f"copier {self.version}"

    def compile(self, source, output, processes=None):
        """Copy the source."""
        self.compiled.append(source)
        self.during(source)
        output.write_text(source)
        return CompileReport("a note", 0.5, {"k": KernelResources(registers=32)})


@pytest.fixture
def cache(tmp_path):
    """A cache that holds nothing."""
    return Store(tmp_path / "cache").kernels


# ---- what is built -------------------------------------------------------------------------------


def test_each_source_is_built_once(cache):
    """Equal sources share a binary; what was built is found again."""
    toolchain = CopyingToolchain()
    binaries = build_kernels({"add": "A", "mul": "B", "add1": "A"}, toolchain, cache)
    assert list(binaries.items()) == [("add", b"A"), ("mul", b"B"), ("add1", b"A")]
    assert sorted(toolchain.compiled) == ["A", "B"]
    again = CopyingToolchain()
    assert build_kernels({"mul": "B", "add": "A"}, again, cache) == {
        "mul": b"B", "add": b"A",
    }  # fmt: skip
    assert again.compiled == []
    assert build_kernels({}, again, cache) == {}


def test_entry_holds_source_and_report(cache):
    """Beside the binary are its source and, as JSON, what the compiler said."""
    build_kernels({"add": "A"}, CopyingToolchain(), cache)
    entry = cache.entry(artifact_key("A", "copier 1"))
    assert entry.files == {"kernel.bin": b"A", "kernel.txt": b"A"}
    assert entry.meta["name"] == "add"
    assert (entry.meta["compiler"], entry.meta["target"]) == ("copier", "paper")
    assert (entry.meta["log"], entry.meta["seconds"]) == ("a note", 0.5)
    assert entry.meta["resources"]["k"]["registers"] == 32
    assert json.loads((entry.path / "entry.json").read_text())["payload"]["meta"] == entry.meta


@pytest.mark.parametrize(
    ("source", "version", "times"), [("A", "1", 1), ("A ", "1", 2), ("A", "2", 2)]
)
def test_what_decides_over_a_binary(cache, source, version, times):
    """Another source is built anew, and so is the same one for another compiler."""
    first, second = CopyingToolchain(), CopyingToolchain(version=version)
    build_kernels({"add": "A"}, first, cache)
    build_kernels({"add": source}, second, cache)
    assert len(first.compiled) + len(second.compiled) == len(cache.store.entries()) == times


def test_options_of_a_real_compiler_decide(cache):
    """A library with checks is another one than a library without."""
    plain = build_kernels({"one": KERNEL}, Gxx(), cache)["one"]
    checked = build_kernels({"one": KERNEL}, Gxx(check=True), cache)["one"]
    assert plain != checked
    assert build_kernels({"again": KERNEL}, Gxx(), cache)["again"] == plain


@pytest.mark.parametrize("name", ["a/b", "../up", "ä", "", "x" * 300])
def test_any_name(cache, name):
    """A name is for messages; what no file can be called is no problem."""
    assert build_kernels({name: "A"}, CopyingToolchain(), cache)[name] == b"A"


def test_damaged_binary_is_built_again(cache):
    """A binary that was cut in half is replaced."""
    build_kernels({"add": "A" * 100}, CopyingToolchain(), cache)
    os.truncate(cache.entry(artifact_key("A" * 100, "copier 1")).path / "kernel.bin", 50)
    with pytest.warns(CacheWarning, match="has 50 bytes, not 100"):
        again = build_kernels({"add": "A" * 100}, CopyingToolchain(), cache)["add"]
    assert again == b"A" * 100


# ---- side by side --------------------------------------------------------------------------------


def test_compilers_run_side_by_side(cache):
    """As many as there are workers run at the same time."""
    meeting = threading.Barrier(3, timeout=60)
    toolchain = CopyingToolchain(during=lambda source: meeting.wait())
    sources = {str(number): str(number) for number in range(6)}
    binaries = build_kernels(sources, toolchain, cache, workers=3)
    assert {name: binary.decode() for name, binary in binaries.items()} == sources


def test_one_worker_builds_in_order(cache):
    """One worker takes one after the other."""
    toolchain = CopyingToolchain()
    sources = {str(number): f"source {number}" for number in range(6)}
    build_kernels(sources, toolchain, cache, workers=1)
    assert toolchain.compiled == list(sources.values())


RACE = """
import sys, time
from pathlib import Path
from hidet.backend.build import build_kernels
from hidet.backend.cache import Store
from hidet.backend.toolchains import Gxx
cache, source = Store(Path(sys.argv[1])).kernels, Path(sys.argv[2]).read_text()
print(build_kernels({"one": source}, Gxx(), cache)["one"].hex())
"""


def test_processes_that_want_the_same_binary(tmp_path):
    """Of several processes one compiles, and all get the same file."""
    (tmp_path / "one.cu").write_text(KERNEL)
    compiler = tmp_path / "c++"
    compiler.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/calls\nexec g++ "$@"\n')
    compiler.chmod(0o755)
    command = [sys.executable, "-c", RACE, str(tmp_path / "cache"), str(tmp_path / "one.cu")]
    environment = {**os.environ, "CXX": str(compiler)}
    processes = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    outputs = {process.communicate(timeout=120)[0] for process in processes}
    assert [process.returncode for process in processes] == [0] * 4
    assert len(outputs) == 1
    assert bytes.fromhex(outputs.pop()).startswith(b"\x7fELF")
    calls = (tmp_path / "calls").read_text().splitlines()
    assert [call for call in calls if call != "--version"] == ["-shared"]


# ---- progress ------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    """Says of itself that it is a terminal."""

    def isatty(self):
        """Yes."""
        return True


@pytest.mark.parametrize(
    ("stream", "progress", "is_shown"),
    [
        (Terminal, None, True),
        (Terminal, False, False),
        (io.StringIO, None, False),
        (io.StringIO, True, True),
    ],
)
def test_progress(cache, monkeypatch, capsys, stream, progress, is_shown):
    """The bar shows on a terminal, or when asked for; what is in the cache needs none."""
    monkeypatch.setattr(sys, "stderr", stream())
    build_kernels({"add": "A", "mul": "B"}, CopyingToolchain(), cache, progress=progress)
    assert ("Compiling" in sys.stderr.getvalue()) is is_shown
    assert ("0/2" in sys.stderr.getvalue()) is is_shown
    monkeypatch.setattr(sys, "stderr", stream())
    build_kernels({"add": "A", "mul": "B"}, CopyingToolchain(), cache, progress=progress)
    assert sys.stderr.getvalue() == ""
    assert capsys.readouterr() == ("", "")


def test_no_thread_stays(cache):
    """Neither a worker nor one of the bar: calls are cheaper where there is one thread."""
    before = set(threading.enumerate())
    build_kernels({"add": "A"}, CopyingToolchain(), cache, progress=True)
    assert set(threading.enumerate()) <= before


# ---- what goes wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("toolchain", "install"),
    [
        (lambda: Gxx(Path("/no/such/g++")), "apt install g++"),
        (lambda: Nvcc("sm_90a", Path("/no/such/nvcc")), "pip install 'hidet-xdsl[nvcc]'"),
    ],
)
def test_missing_compiler(cache, toolchain, install):
    """The error says what to install, and nothing was begun."""
    with pytest.raises(CompilerNotFoundError, match=r"no (g\+\+|nvcc) found") as caught:
        build_kernels({"one": KERNEL}, toolchain(), cache)
    assert install in str(caught.value)
    assert not cache.store.folder.root.exists()


def test_failing_compiler(cache):
    """The error has the kernel, the compiler's words, and the file that keeps the source."""
    bad = KERNEL.replace("1.0f", "undefined_name")
    with pytest.raises(CompilationError) as caught:
        build_kernels({"good": KERNEL, "bad": bad}, Gxx(), cache, workers=1)
    error = caught.value
    assert error.what.startswith("kernel 'bad': g++ could not compile bad.cpp for cpu")
    assert "bad.cpp:2:" in error.log
    assert "'undefined_name' was not declared" in str(error)
    assert f"at: {error.source_path}" in str(error)
    assert Path(error.source_path).read_text() == bad
    assert cache.entry(artifact_key(KERNEL, Gxx().fingerprint())) is not None
    assert cache.entry(artifact_key(bad, Gxx().fingerprint())) is None


def test_after_an_error_no_more_is_begun(cache):
    """What had been built stays; what had not begun never does."""

    def fail(source):
        if source == "2":
            raise CompilationError("copier failed", log="no ink", source_path="/tmp/2")
        if source > "2":  # one of these may begin before the error is seen, but not all
            time.sleep(0.2)

    toolchain = CopyingToolchain(during=fail)
    with pytest.raises(CompilationError, match="kernel '2': copier failed") as caught:
        build_kernels({n: n for n in "123456789"}, toolchain, cache, workers=1)
    assert (caught.value.log, caught.value.source_path) == ("no ink", "/tmp/2")
    assert len(toolchain.compiled) < 9
    assert cache.entry(artifact_key("1", "copier 1")) is not None


def test_full_disk(cache, monkeypatch):
    """The binaries are there, with one warning, and the cache is as it was."""
    cache.store.folder.prepare()
    synchronise = os.fsync

    def full(descriptor):
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        if path.startswith(str(cache.store.folder.root)):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        synchronise(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(CacheWarning, match="No space left on device") as caught:
        binaries = build_kernels({"add": "A", "mul": "B"}, CopyingToolchain(), cache)
    assert len(caught) == 1
    assert binaries == {"add": b"A", "mul": b"B"}
    assert cache.store.entries() == []
    assert os.listdir(cache.store.folder.root / "temporary") == []


@pytest.mark.parametrize("function", ["mkdtemp", "write_text"])
def test_no_room_for_temporary_files(cache, monkeypatch, function):
    """The error names the kernel and says what to do."""

    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    place = "tempfile.mkdtemp" if function == "mkdtemp" else "pathlib.Path.write_text"
    Gxx().fingerprint()
    monkeypatch.setattr(place, full)
    with pytest.raises(CompilationError, match="No space left on device") as caught:
        build_kernels({"one": KERNEL}, Gxx(), cache)
    assert caught.value.what.startswith("kernel 'one': the files of g++ cannot be written")
    assert "TMPDIR" in caught.value.hint
