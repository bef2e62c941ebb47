"""Arithmetic on two halves becomes packed instructions, and vectors in memory become one access."""

import re
from collections import Counter

import pytest

import hidet
from hidet.errors import CompilerNotFoundError
from hidet.lang import attrs, bf16x2, f16x8, math
from hidet.lang.cuda import threadIdx


def define_kernels():
    """Build kernels of halves."""
    with hidet.script_module() as module:

        @hidet.script
        def halves(x: f16x8[32], y: f16x8[32]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            v = x[threadIdx.x]
            y[threadIdx.x] = max(math.fma(v, v, y[threadIdx.x]) * v + v, v)

        @hidet.script
        def brains(x: bf16x2[32], y: bf16x2[32]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            y[threadIdx.x] = x[threadIdx.x] * y[threadIdx.x] + 1.0

    return module.build()


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_instructions(tmp_path, arch, nvcc_to_ptx):
    """Four pairs are four instructions of each kind; sums and products are not contracted."""
    try:
        _ = nvcc_to_ptx(arch).command
    except CompilerNotFoundError as error:
        pytest.skip(f"needs nvcc: {error}")
    kernels = define_kernels()
    counts = {}
    for name in ("halves", "brains"):
        nvcc_to_ptx(arch).compile(getattr(kernels, name).source(), tmp_path / name)
        text = (tmp_path / name).read_text()
        counts[name] = Counter(re.findall(r"\b(?:add|mul|fma|max)\.\S*16x2", text))
        if name == "halves":
            assert len(re.findall(r"(?:ld|st)\.global\S*\.v4", text)) == 3
    rounded = ("add.rn.f16x2", "mul.rn.f16x2", "fma.rn.f16x2", "max.f16x2")
    assert counts["halves"] == Counter(dict.fromkeys(rounded, 4))
    own = {"mul.rn.bf16x2": 1, "add.rn.bf16x2": 1} if arch == "sm_90a" else {"fma.rn.bf16x2": 2}
    assert counts["brains"] == Counter(own)
