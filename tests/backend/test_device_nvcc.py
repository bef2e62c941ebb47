"""The kernels that run on the CPU compile for GPUs, to the instructions that are meant."""

import re

import pytest

from hidet.backend.build import build_kernels
from hidet.backend.cache import Store, artifact_key
from hidet.backend.toolchains import Nvcc
from hidet.errors import CompilerNotFoundError

ARCHITECTURES = ["sm_80", "sm_90a"]


@pytest.fixture(scope="session", autouse=True)
def _nvcc():
    """Skip where there is no nvcc."""
    try:
        _ = Nvcc("sm_80").command
    except CompilerNotFoundError as error:
        pytest.skip(f"needs nvcc: {error}")


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_all_kernels_compile(tmp_path, kernel_sources, arch):
    """Every kernel becomes machine code without a warning, and ptxas reports on each."""
    cache = Store(tmp_path / "cache").kernels
    built = build_kernels(kernel_sources, Nvcc(arch), cache)
    for name, binary in built.items():
        assert binary.startswith(b"\x7fELF")
        entry = cache.entry(artifact_key(kernel_sources[name], Nvcc(arch).fingerprint()))
        assert "warning" not in entry.meta["log"]
        launches = re.findall(r"^HIDET_KERNEL\((\w+),", kernel_sources[name], re.MULTILINE)
        assert set(launches) <= set(entry.meta["resources"])
        if name == "matmul":
            matmul = entry.meta["resources"]["matmul"]
            assert matmul["shared_bytes"] == 8192
            assert matmul["spill_store_bytes"] == matmul["spill_load_bytes"] == 0
            assert 0 < matmul["registers"] <= 128


@pytest.mark.parametrize("arch", ["sm_75", *ARCHITECTURES])
def test_instructions(tmp_path, kernel_sources, arch, nvcc_to_ptx):
    """A vector copy is one access, and what has an instruction of its own uses it."""
    names = ["memory", "math", "launch"]
    for name in names:
        nvcc_to_ptx(arch).compile(kernel_sources[name], tmp_path / name)
    memory, math, launch = ((tmp_path / name).read_text() for name in names)

    def body(kernel):
        return memory.split(f".entry {kernel}(")[1].split(".entry")[0]

    assert len(re.findall(r"ld\.global\S*\.v4", body("copy_float4"))) == 1
    assert len(re.findall(r"st\.global\S*\.v4", body("copy_float4"))) == 1
    assert len(re.findall(r"ld\.global\S*\.v4", body("copy_char16"))) == 1
    assert len(re.findall(r"ld\.global\S*\.v2", body("copy_float2"))) == 1
    assert ("max.NaN.f32" in math) == (arch != "sm_75")
    assert ("griddepcontrol.wait" in launch) == (arch == "sm_90a")
