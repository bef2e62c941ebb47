"""Finding compilers, running them, and what they say when something is wrong."""

import os
import re
import stat
import sys
from dataclasses import replace

import pytest

from hidet.backend import device
from hidet.backend.toolchains import Gxx, KernelResources, Nvcc, base, gxx
from hidet.errors import CompilationError, CompilerNotFoundError

KERNEL = """
#include "hidet.h"
extern "C" __global__ void __launch_bounds__(32) one(float* out) { out[threadIdx.x] = 1.0f; }
HIDET_KERNEL(one, 32, 1, 1, HIDET_INDEPENDENT)
"""


@pytest.fixture
def fake(tmp_path):
    """Make a compiler that prints a text and ends with a status."""

    def make(name, text, status=0):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!{sys.executable}\nprint({text!r})\nraise SystemExit({status})\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return make


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """Hide all compilers."""
    for variable in ("CXX", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


# ---- g++ -----------------------------------------------------------------------------------------


def test_gxx_makes_a_library(tmp_path):
    """The output is a library, and nothing is left beside it."""
    output = tmp_path / "one.so"
    report = Gxx().compile(KERNEL, output)
    assert output.read_bytes().startswith(b"\x7fELF")
    assert os.listdir(tmp_path) == ["one.so"]
    assert report.log == ""
    assert report.seconds > 0


def test_no_gxx(nowhere):
    """The error says what was looked for and how to get it."""
    with pytest.raises(CompilerNotFoundError, match=r"looked for 'g\+\+' in PATH") as caught:
        Gxx().fingerprint()
    assert "apt install g++" in caught.value.hint


def test_gxx_from_cxx(monkeypatch, fake):
    """CXX names the compiler, in one word or several."""
    monkeypatch.setenv("CXX", "/no/such/compiler")
    with pytest.raises(CompilerNotFoundError, match=r"'/no/such/compiler' \(from CXX\)"):
        Gxx().fingerprint()
    launcher = fake("launcher", "g++ (Test) 12.1.0\nCopyright Free Software Foundation")
    monkeypatch.setenv("CXX", f"{launcher} g++")
    assert Gxx().command == (str(launcher), "g++")


@pytest.mark.parametrize(
    ("version", "complaint"),
    [
        ("clang version 17.0.6\nTarget: x86_64", "is not g"),
        ("g++ (Ubuntu 9.4.0-1ubuntu1) 9.4.0\nCopyright Free Software Foundation", "is too old"),
    ],
)
def test_unsuitable_gxx(fake, version, complaint):
    """Another compiler is refused before it fails in its own words."""
    path = fake("c++", version)
    with pytest.raises(CompilerNotFoundError, match=complaint) as caught:
        _ = Gxx(path).command
    assert version.splitlines()[0] in caught.value.what


def test_failing_compilation(tmp_path):
    """The error has the compiler's words, and the source is kept where it says."""
    with pytest.raises(CompilationError) as caught:
        Gxx().compile(KERNEL.replace("1.0f", "undefined_name"), tmp_path / "bad_kernel.so")
    error = caught.value
    assert re.search(r"bad_kernel\.cpp:3:\d+: error: .*undefined_name", error.log)
    assert "g++ could not compile bad_kernel.cpp for cpu (exit status 1)" in str(error)
    assert error.source_path in str(error)
    with open(error.source_path) as file:
        assert "undefined_name" in file.read()
    assert os.listdir(tmp_path) == []


def test_stack_limit(tmp_path):
    """A kernel that would overflow the stack of a fiber does not compile."""
    body = "volatile float big[16000]; big[threadIdx.x] = 1.0f; out[0] = big[0];"
    with pytest.raises(CompilationError) as caught:
        Gxx().compile(KERNEL.replace("out[threadIdx.x] = 1.0f;", body), tmp_path / "big.so")
    assert "frame size" in caught.value.log


def test_compiler_that_is_killed(tmp_path, fake):
    """The end by a signal is told as such."""
    path = fake("g++", "g++ (Test) 12.1.0\nCopyright Free Software Foundation")
    compiler = Gxx(path)
    _ = compiler.command
    path.write_text("#!/bin/sh\nkill -9 $$\n")
    with pytest.raises(CompilationError, match="ended by signal 9"):
        compiler.compile(KERNEL, tmp_path / "one.so")


# ---- nvcc ----------------------------------------------------------------------------------------


def test_no_nvcc(nowhere, monkeypatch, tmp_path):
    """The error lists the places, and the extra that brings an nvcc."""
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    monkeypatch.setattr("pathlib.Path.is_file", lambda path: False)
    with pytest.raises(CompilerNotFoundError) as caught:
        Nvcc("sm_80").fingerprint()
    assert f"looked in PATH, {tmp_path}/toolkit/bin/nvcc (CUDA_HOME)" in caught.value.what
    assert "/usr/local/cuda/bin/nvcc (usual place)" in caught.value.what
    assert "pip install 'hidet-xdsl[nvcc]'" in caught.value.hint


def test_order_of_places(monkeypatch, tmp_path, fake):
    """What is named comes first, then CUDA_HOME, PATH, and Python packages."""
    given = fake("given/nvcc", "")
    home = fake("toolkit/bin/nvcc", "")
    in_path = fake("path/nvcc", "")
    wheel = fake("site/nvidia/cu13/bin/nvcc", "")
    fake("site/nvidia/cu12/bin/nvcc", "")
    monkeypatch.setattr(
        "importlib.util.find_spec",
        lambda name: type("Spec", (), {"submodule_search_locations": [wheel.parents[2]]}),
    )
    monkeypatch.setenv("CUDA_HOME", str(home.parents[1]))
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.setenv("PATH", str(in_path.parent))
    assert Nvcc("sm_80", given).command == (str(given),)
    assert Nvcc("sm_80").command == (str(home),)
    home.unlink()
    assert Nvcc("sm_80").command == (str(in_path),)
    in_path.chmod(0o644)
    assert Nvcc("sm_80").command == (str(wheel),)


def test_report_of_ptxas():
    """Registers, spills and shared memory are read for each kernel."""
    log = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_80'
ptxas info    : Function properties for first
    16 bytes stack frame, 24 bytes spill stores, 40 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 8192 bytes smem, 388 bytes cmem[0]
ptxas info    : Compile time = 41.926 ms
ptxas info    : Compiling entry function 'second' for 'sm_80'
ptxas info    : Function properties for second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 0 barriers, 372 bytes cmem[0]
"""
    assert Nvcc("sm_80").resources(log) == {
        "first": KernelResources(255, 16, 24, 40, 8192),
        "second": KernelResources(10),
    }


# ---- fingerprints --------------------------------------------------------------------------------


def test_fingerprint_tells_what_decides(monkeypatch, fake):
    """A fingerprint changes with the compiler, its options, the headers and the processor."""
    compiler = Gxx(fake("g++", "g++ (Test) 12.1.0\nCopyright Free Software Foundation"))
    other = Gxx(fake("other", "g++ (Test) 12.2.0\nCopyright Free Software Foundation"))
    nvcc = Nvcc("sm_80", fake("nvcc", "Cuda compilation tools, release 13.0"))
    modes = [replace(compiler, check=True), replace(compiler, strict=True)]
    seen = [compiler, other, *modes, nvcc, replace(nvcc, target="sm_90a")]
    fingerprints = {toolchain.fingerprint() for toolchain in seen}
    assert len(fingerprints) == len(seen)
    assert Gxx(compiler.path).fingerprint() == compiler.fingerprint()
    with monkeypatch.context() as patch:
        patch.setattr(base, "header_digest", lambda: "another header")
        assert not fingerprints & {toolchain.fingerprint() for toolchain in seen}
    with monkeypatch.context() as patch:
        patch.setattr(gxx, "cpu_description", lambda: "another processor")
        assert compiler.fingerprint() not in fingerprints
        assert nvcc.fingerprint() in fingerprints


def test_compiler_is_asked_once(tmp_path, fake):
    """The version is found out once a process."""
    path = fake("nvcc", "release 13.0")
    path.write_text(f"#!/bin/sh\necho called >> {tmp_path}/calls\n")
    for arch in ("sm_80", "sm_90a", "sm_80"):
        Nvcc(arch, path).fingerprint()
    assert (tmp_path / "calls").read_text() == "called\n"


def test_processor_description_is_stable():
    """The description names the instructions, and not what changes from moment to moment."""
    text = gxx.cpu_description()
    assert re.search(r"^(flags|Features)\s*:.*\w", text, re.MULTILINE)
    assert "MHz" not in text
    assert gxx.cpu_description.__wrapped__() == text


def test_headers_are_package_data():
    """Every header that another one includes is there, and all of them count."""
    names = {path.name for path in device.header_files()}
    included = {
        name
        for path in device.header_files()
        for name in re.findall(r'#include "([^"]+)"', path.read_text())
    }
    assert included <= names
    kinds = {f"hidet_wgmma_{kind}.h" for kind in ("f16", "bf16", "tf32")}
    assert names - included == {"cuda_runtime.h", *kinds}
