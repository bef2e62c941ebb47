"""Assertions of a script: compile-time ones fail the definition, others the call."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import hidet
from hidet import option
from hidet.backend.build import build_kernels
from hidet.backend.cache import Store, artifact_key
from hidet.backend.toolchains import Nvcc
from hidet.errors import CompilationError, CompilerNotFoundError, HidetError
from hidet.lang import attrs, f32, i32
from hidet.lang.cuda import active_mask, blockIdx, shfl_sync, syncthreads, syncwarp, threadIdx


def build():
    """Return a kernel that asserts something before and after a barrier."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[64], n: i32):
            attrs.cuda.grid_dim = 2
            attrs.cuda.block_dim = 32
            i = blockIdx.x * 32 + threadIdx.x
            assert n > 0
            syncthreads()
            assert i < n or n == 50, f"the {64} elements are too many"
            x[i] = 1.0

    return module.build()


def test_on_the_cpu():
    """The call fails with the line and the message, and the next one is none the worse."""
    built, x = build(), torch.zeros(64)
    built(x, 64)
    assert x.sum() == 64
    where = re.escape(__file__) + r":\d+: "
    with pytest.raises(HidetError, match=rf"does not hold: {where}n > 0"):
        built(x, 0)
    with pytest.raises(HidetError, match=rf"thread .*: {where}the 64 elements are too"):
        built(x, 40)
    built(x.zero_(), 50)
    assert x.sum() == 64


def test_threads_that_do_not_meet():
    """The error names the line of the script where they wait, not that of the C++."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[64], n: i32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 64
            mask = active_mask()
            if mask != 0 and threadIdx.x < n:
                shfl_sync((1 << n) - 1, x[threadIdx.x], 0)
            if threadIdx.x > n:
                return
            syncwarp(0xFF)

    lines = Path(__file__).read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if text.endswith("syncwarp(0xFF)"))
    where = re.escape(f"{__file__}:{line}")
    with pytest.raises(HidetError, match=rf"hangs: .* wait at __syncwarp in {where}\b") as error:
        module.build()(torch.zeros(64), 4)
    assert "in line" not in str(error.value)


def test_in_a_public_function():
    """The host checks before it launches anything, and raises an error with line and message."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[64]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 64
            x[threadIdx.x] = 1.0

        @hidet.script
        def launch(x: f32[64], n: i32):
            attrs.func_kind = "public"
            assert n % 8 == 0, "the size is a multiple of 8"
            kernel(x)

    built, x = module.build(), torch.zeros(64)
    with pytest.raises(HidetError, match=r"does not hold: .*py:\d+: the size is a multiple of 8"):
        built(x, 12)
    assert x.sum() == 0
    built(x, 16)
    assert x.sum() == 64


def test_in_a_function_of_the_cpu():
    """What is no kernel ends at the line that fails."""
    with hidet.script_module() as module:

        @hidet.script
        def function(x: f32[64], n: i32):
            attrs.func_kind = "cpu_kernel"
            for i in range(64):
                assert i < n, "too many"
                x[i] = 1.0

    built, x = module.build(), torch.zeros(64)
    for n in (64, 20, 64):
        x.zero_()
        if n == 64:
            built(x, n)
        else:
            with pytest.raises(HidetError, match=r"does not hold: .*:\d+: too many"):
                built(x, n)
        assert x.sum() == n


def test_for_gpus(tmp_path):
    """nvcc takes it without a warning."""
    try:
        _ = Nvcc("sm_80").command
    except CompilerNotFoundError as error:
        pytest.skip(f"needs nvcc: {error}")
    cache = Store(tmp_path / "cache").kernels
    source = build().source()
    build_kernels({"kernel": source}, Nvcc("sm_80"), cache)
    entry = cache.entry(artifact_key(source, Nvcc("sm_80").fingerprint()))
    assert "warning" not in entry.meta["log"]


@pytest.mark.gpu
def test_on_a_gpu():
    """The message is printed, and the process cannot go on with the GPU: it is one of its own."""
    program = (
        "import torch, runpy\n"
        f"build = runpy.run_path({__file__!r})['build']\n"
        "build()(torch.zeros(64, device='cuda'), 40)\n"
        "torch.cuda.synchronize()\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert result.returncode != 0
    assert "the 64 elements are too many" in result.stdout


def test_accesses_that_may_not_run():
    """A loop past the end of a tensor is left alone where a branch or an assertion is before it."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[3], n: i32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 1
            for i in range(10):
                if i < 3:
                    x[i] = 1.0
            for i in range(10):
                if i == n:
                    break
                x[i] += 1.0
            assert n < 3
            for i in range(10):
                x[i] += 1.0

    x = torch.zeros(3)
    with pytest.raises(HidetError, match="n < 3"):
        module.build()(x, 3)


def test_failures_name_the_line_of_the_script(tmp_path, monkeypatch):
    """So do a launch that is not possible, and a compiler that refuses what is printed."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: ~f32, n: i32):
            attrs.cuda.grid_dim = n
            attrs.cuda.block_dim = 32
            x[threadIdx.x] = 1.0

    built, x = module.build(), torch.zeros(32)
    with pytest.raises(HidetError, match="the grid of kernel") as caught:
        built(x, -1)
    first = module.ir_module().kernels[0].op.location.line.data
    assert caught.value.where == f"{__file__}:{first}"
    compiler = tmp_path / "g++"
    compiler.write_text(
        '#!/bin/sh\nfor each; do case "$each" in *.cpp) sed -i "s/= 1.0f;/= nothing;/" "$each";; '
        'esac; done\nexec g++ "$@"\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    with option.context(cache_dir=tmp_path / "cache"), pytest.raises(CompilationError) as caught:
        module.build()(x, 1)
    assert caught.value.where.startswith(f"{__file__}:{first + 3}, which became ")
