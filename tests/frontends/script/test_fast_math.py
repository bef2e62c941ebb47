"""Fast functions and logic of scripts: numbers on the CPU; nvcc takes the source."""

import math
import shutil
from dataclasses import replace

import pytest
import torch

import hidet
from hidet.arch.chips import Arch
from hidet.arch.functions import FAST_FUNCTIONS
from hidet.backend.toolchains import Nvcc
from hidet.dialects.cuda.arithmetic import Lop3Op, PrmtOp
from hidet.lang import attrs, cuda, f16, f16x2, f32, reinterpret, u32
from hidet.lang.cuda import threadIdx
from hidet.testing.numeric import assert_close, poison

N = 64

FUNCTIONS = {
    "fast_exp2": torch.exp2,
    "fast_log2": torch.log2,
    "fast_sin": torch.sin,
    "fast_cos": torch.cos,
    "fast_tanh": torch.tanh,
    "fast_rcp": torch.reciprocal,
    "fast_rsqrt": torch.rsqrt,
    "fast_sqrt": torch.sqrt,
    "fast_exp": torch.exp,
    "fast_log": torch.log,
    "fast_log10": torch.log10,
    "__expf": torch.exp,
    "__log10f": torch.log10,
    "rcp": torch.reciprocal,
}


def all_functions():
    """Build a kernel with a row for each function."""
    with hidet.script_module() as module:

        @hidet.script
        def functions(x: f32[N], y: f32[len(FUNCTIONS) + 3, N]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = N
            i = threadIdx.x
            for row, name in enumerate(FUNCTIONS):
                y[row, i] = getattr(cuda, name)(x[i])
            y[len(FUNCTIONS), i] = cuda.fast_pow(x[i], 2.5)
            y[len(FUNCTIONS) + 1, i] = cuda.__fdividef(x[i], 3)
            y[len(FUNCTIONS) + 2, i] = cuda.fast_exp2(f16(x[i]))

    return module.build()


def test_functions():
    """All are those of torch, on the CPU nearly to the last bit."""
    x, y = torch.rand(N) * 3 + 0.1, poison(torch.empty(len(FUNCTIONS) + 3, N))
    all_functions()(x, y)
    for row, function in enumerate(FUNCTIONS.values()):
        assert_close(y[row], function(x.double()), 2e-6)
    assert_close(y[-3], x.double() ** 2.5, 2e-6)
    assert_close(y[-2], x.double() / 3, 1e-6)
    assert_close(y[-1], x.half().double().exp2(), 1e-6)


def words(*functions):
    """Build a kernel that applies functions of three words."""
    with hidet.script_module() as module:

        @hidet.script
        def words(a: u32[N], b: u32[N], c: u32[N], y: u32[len(functions), N]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = N
            i = threadIdx.x
            for row, function in enumerate(functions):
                y[row, i] = function(a[i], b[i], c[i])

    return module.build()


def random_words(count):
    """Return random bits as numbers, and as a tensor of u32."""
    numbers = [torch.randint(0, 1 << 32, (N,)).tolist() for _ in range(count)]
    return numbers, [torch.tensor(each, dtype=torch.int64).to(torch.uint32) for each in numbers]


def test_lop3():
    """The table of a function is the function of three masks."""
    functions = [
        lambda a, b, c: a ^ b ^ c,
        lambda a, b, c: (a & b) | c,
        lambda a, b, c: (a & b) | (a & c) | (b & c),
        lambda a, b, c: ~a & b & ~c,
    ]
    tables = [function(0xF0, 0xCC, 0xAA) & 255 for function in functions]
    numbers, tensors = random_words(3)
    y = torch.zeros(len(tables), N, dtype=torch.uint32)
    words(*[lambda a, b, c, t=t: cuda.lop3(a, b, c, imm_lut=t) for t in tables])(*tensors, y)
    for row, function in zip(y.tolist(), functions, strict=True):
        wanted = [function(*each) & 0xFFFFFFFF for each in zip(*numbers, strict=True)]
        assert row == wanted


def test_pairs_of_halves():
    """A sum is rounded once; operands are pairs or words, and so is what gets the result."""
    with hidet.script_module() as module:

        @hidet.script
        def pairs(x: f16x2[3, N], y: f16x2[2, N], w: u32[3, N]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = N
            i = threadIdx.x
            y[0, i] = cuda.fma_f16x2(x[0, i], x[1, i], x[2, i])
            cuda.sub_f16x2(~y[1, i], x[0, i], x[1, i])
            w[0, i] = reinterpret(x[1, i], u32)
            w[1, i] = 77
            cuda.fma_f16x2(~w[1, i], x[0, i], w[0, i], x[2, i])
            w[2, i] = reinterpret(cuda.sub_f16x2(~w[0, i], w[0, i], x[2, i]), u32)

    a, b, c = x = torch.randn(3, N, 2).half()
    y, w = torch.zeros(2, N, 2).half(), torch.zeros(3, N, dtype=torch.uint32)
    module.build()(x, y, w)
    fused = (a.double() * b.double() + c.double()).half()
    first, second, third = w.view(torch.half).view(3, N, 2)
    assert torch.equal(y, torch.stack([fused, a - b]))
    assert torch.equal(second, fused)
    assert torch.equal(first, b - c)
    assert torch.equal(third, b - c)


def permuted(a, b, selector):
    """Return four bytes, from the description of the instruction."""
    both = [*a.to_bytes(4, "little"), *b.to_bytes(4, "little")]
    result = []
    for digit in range(4):
        choice = selector >> 4 * digit & 15
        byte = both[choice & 7]
        result.append((255 if byte & 128 else 0) if choice & 8 else byte)
    return int.from_bytes(bytes(result), "little")


def test_prmt():
    """Bytes of both words, and their signs."""
    numbers, tensors = random_words(3)
    y = torch.zeros(2, N, dtype=torch.uint32)
    words(cuda.prmt, lambda a, b, c: cuda.prmt(a, b, 0x3276))(*tensors, y)
    wanted = [permuted(*each) for each in zip(*numbers, strict=True)]
    assert y[0].tolist() == wanted
    assert y[1].tolist() == [permuted(a, b, 0x3276) for a, b in zip(*numbers[:2], strict=True)]


def test_table():
    """Of the fast functions, tanh came later than the others."""
    assert not FAST_FUNCTIONS["fast_tanh"].runs_on(replace(Arch.parse("sm_75"), name="sm_70"))
    assert all(
        each.runs_on(Arch.parse("sm_80"))
        for each in (*FAST_FUNCTIONS.values(), Lop3Op.ENTRY, PrmtOp.ENTRY)
    )
    assert "2^-20 from -pi to pi" in cuda.fast_sin.__doc__
    assert math.isclose(math.log2(math.e) * math.log(2), 1)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_nvcc_takes_the_source(tmp_path):
    """The source is CUDA C++."""
    logic = words(lambda a, b, c: cuda.lop3(a, b, c, imm_lut=7), cuda.prmt)
    for number, built in enumerate((all_functions(), logic)):
        path = tmp_path / f"{number}.cubin"
        Nvcc("sm_80").compile(built.source(), path)
        assert path.stat().st_size > 0
