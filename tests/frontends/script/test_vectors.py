"""Vectors, cache hints and ordered accesses of scripts: numbers on the CPU; nvcc compiles."""

import shutil

import pytest
import torch

import hidet
from hidet import option
from hidet.backend.toolchains import Nvcc
from hidet.dialects.cuda.memory_access import LOADS, STORES
from hidet.lang import (
    attrs,
    cdiv,
    f16,
    f16x2,
    f32,
    f32x2,
    f32x4,
    i32,
    meta,
    register_tensor,
    shared_tensor,
)
from hidet.lang.cuda import blockIdx, copy_vector, load, store, syncthreads, threadIdx
from hidet.lang.math import max as larger
from hidet.testing.numeric import assert_close, poison


@pytest.fixture(autouse=True)
def _verified():
    """Check the legality of every kernel between the stages."""
    with option.context(verify_level=True):
        yield


def uniform(*shape):
    return torch.rand(*shape) * 2 - 1


def test_parameters():
    """A kernel takes vectors by value, from the host as their elements, and hands them on."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[4], v: f32x4, y: f16[4], h: f16x2):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 2
            i = threadIdx.x
            v.x = v.x + v.w
            for k in meta.range(2):
                x[i * 2 + k] += v[k] * v.z
            h = h + h
            store(~y[i * 2], h)

        @hidet.script
        def launch(x: f32[4], v: f32x4, y: f16[4], h: f16x2):
            attrs.func_kind = "public"
            kernel(x, v * 2.0, y, h)

    for function, factor in ((module.build()["kernel"], 1), (module.build(), 2)):
        x, y = torch.ones(4), torch.zeros(4).half()
        function(x, 1.0, 2.0, 3.0, 4.0, y, 0.25, -2.0)
        assert x.tolist() == [1 + 15 * factor**2, 1 + 6 * factor**2] * 2
        assert y.tolist() == [0.5, -4.0] * 2


def test_arithmetic():
    """Operators of vectors, of a vector and a scalar on each side, and parts of vectors."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[128], y: f32[128], z: f32[6, 128], s: f32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            i = threadIdx.x * 4
            u, v = load(~x[i], dtype=f32x4), load(~y[i], dtype="f32x4")
            store(~z[0, i], u + v * s - 1)
            store(~z[1, i], 2 - (s * u) / (v * v + 1.0))
            store(~z[2, i], larger(-u, v))
            store(~z[3, i], f32x4(u.x, v.y, u.z + v.w, len(u)))
            a, b, c, d = u
            store(~z[4, i], f32x2(d, c))
            store(~z[4, i + 2], f32x2(b, a))
            store(~z[5, i], f32x4(s), sync=None)

    x, y, z = uniform(128), uniform(128), poison(torch.empty(6, 128))
    module.build()(x, y, z, 3.0)
    u, v = x.double().view(32, 4), y.double().view(32, 4)
    mixed = torch.stack([u[:, 0], v[:, 1], u[:, 2] + v[:, 3], torch.full((32,), 4.0)], 1)
    wanted = [u + v * 3 - 1, 2 - 3 * u / (v * v + 1), torch.maximum(-u, v), mixed, u.flip(1)]
    for row, each in zip(z, [*wanted, torch.full((32, 4), 3.0).double()], strict=True):
        assert_close(row.view(32, 4), each, 1e-6)


def test_variables():
    """A vector that is assigned again is a variable; another name keeps its value."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[8, 128], y: f32[3, 128]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            i = threadIdx.x * 4
            total = f32x4(0)
            last = total
            for row in range(8):
                last = total
                total += load(~x[row, i], dtype=f32x4)
            before = total
            total = 1.0
            store(~y[0, i], before)
            store(~y[1, i], last)
            store(~y[2, i], total)

    x, y = uniform(8, 128), poison(torch.empty(3, 128))
    module.build()(x, y)
    assert_close(y[0], x.double().sum(0), 1e-6)
    assert_close(y[1], x[:7].double().sum(0), 1e-6)
    assert_close(y[2], torch.ones(128).double(), 0)


def hints():
    """Build a kernel that uses every hint once, by loads and stores of 2 to 16 bytes."""
    rows = len(LOADS) + len(STORES)

    with hidet.script_module() as module:

        @hidet.script
        def hinted(x: f16[256], y: f16[rows, 256]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            i = threadIdx.x * 8
            for row, hint in enumerate(LOADS):
                store(~y[row, i], load(~x[i], dtype="f16x8", cache=hint))
            for row, hint in enumerate(STORES):
                regs = register_tensor("float16", [8])
                copy_vector(~regs[0], ~x[i], 16)
                for size in [2, 4, 8]:
                    first = 0 if size == 2 else size // 2
                    copy_vector(~y[len(LOADS) + row, i + first], ~regs[first], size, cache=hint)
                store(~y[len(LOADS) + row, i + 1], load(~x[i + 1], cache="cg"), cache=hint)

    return module.build()


def test_hints():
    """No hint changes what is copied."""
    x = uniform(256).half()
    y = poison(torch.empty(len(LOADS) + len(STORES), 256).half())
    hints()(x, y)
    assert_close(y, x.double().expand(y.shape), 0)


def test_vectors_in_shared_memory():
    """Shared arrays that vectors are copied to are aligned."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[128], y: f32[128]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            odd = shared_tensor("float16", [3])
            smem = shared_tensor("float32", [128])
            odd[0] = 0.0
            i = threadIdx.x * 4
            store(~smem[i], load(~x[i], dtype=f32x4))
            syncthreads()
            store(~y[124 - i], load(~smem[i], dtype=f32x4))

    assert "__align__(16) float smem[128]" in module.build().source()
    x, y = uniform(128), poison(torch.empty(128))
    module.build()(x, y)
    assert_close(y, x.double().view(32, 4).flip(0).view(-1), 0)


def turns():
    """Build a kernel whose blocks take turns: each waits for the index of its predecessor."""
    with hidet.script_module() as module:

        @hidet.script
        def turns(turn: i32[1], x: i32[64], y: i32[1]):
            attrs.cuda.grid_dim = cdiv(64, 4)
            attrs.cuda.block_dim = 1
            if load(~turn[0], sync="acquire") == blockIdx.x:
                for k in range(4):
                    y[0] = y[0] * 3 + x[blockIdx.x * 4 + k]
                store(~turn[0], blockIdx.x + 1)

    return module.build()


def test_ordered_accesses():
    """What a block has written is seen by the one that sees its number."""
    turn, x, y = (torch.zeros(n, dtype=torch.int32) for n in (1, 64, 1))
    x.random_(-5, 5)
    for _ in range(16):
        turns()(turn, x, y)
    wanted = 0
    for each in x.tolist():
        wanted = wanted * 3 + each
    assert turn.item() == 16
    assert (y.item() - wanted) % (1 << 32) == 0


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize("build", [hints, turns])
def test_nvcc_takes_the_source(build, tmp_path):
    """The source is CUDA C++."""
    Nvcc("sm_80").compile(build().source(), tmp_path / "kernel.cubin")
    assert (tmp_path / "kernel.cubin").stat().st_size > 0
