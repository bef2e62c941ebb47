"""Pointers, vectors in memory and bits of scripts: numbers on the CPU; nvcc takes the source."""

import shutil

import numpy as np
import pytest
import torch

import hidet
from hidet import option
from hidet.backend.toolchains import Nvcc
from hidet.errors import HidetError
from hidet.lang import (
    as_tensor_pointer,
    attrs,
    bf16x4,
    cast,
    cuda,
    f16,
    f16x2,
    f16x4,
    f16x8,
    f32,
    f32x2,
    f32x4,
    f64,
    i16,
    i32,
    i64,
    local_layout,
    math,
    register_tensor,
    reinterpret,
    shared_tensor,
    spatial,
    u8,
    u16,
    u32,
    u32x2,
    u64,
    void_p,
)
from hidet.lang.cuda import (
    atomic_add,
    blockIdx,
    dynamic_shared_memory,
    shfl_xor_sync,
    syncthreads,
    threadIdx,
)
from hidet.testing.numeric import assert_close, poison


def define_streams():
    """Build kernels that go through global memory once."""
    with hidet.script_module() as module:

        @hidet.script
        def copy(x: ~f32, y: ~f32, n: i32):
            attrs.cuda.grid_dim = 2
            attrs.cuda.block_dim = 32
            source, target = cast(x, ~f32x4), cast(y, ~f32x4)
            i = blockIdx.x * 32 + threadIdx.x
            if i < n // 4:
                target[i] = source[i]

        @hidet.script
        def dot(x: ~f16x2, y: f16x2[512], out: ~f32):
            attrs.cuda.grid_dim = 2
            attrs.cuda.block_dim = 32
            acc = f16x2(0.0)
            for k in range(8):
                i = blockIdx.x * 256 + k * 32 + threadIdx.x
                acc = math.fma(x[i], y[i], acc)
            total = f32(acc.x) + f32(acc.y)
            for mask in [16, 8, 4, 2, 1]:
                total += shfl_xor_sync(0xFFFFFFFF, total, mask)
            if threadIdx.x == 0:
                atomic_add(out, total)

        @hidet.script
        def inverse_sqrt(x: f32[64], y: f32[64]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 64
            v = x[threadIdx.x]
            guess = reinterpret(i32(0x5F3759DF) - (reinterpret(v, i32) >> 1), f32)
            for _ in range(3):
                guess = guess * (1.5 - 0.5 * v * guess * guess)
            y[threadIdx.x] = guess

        @hidet.script
        def scale(x: ~f32, y: ~f32, n: i32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            attrs.cuda.may_alias = True
            for k in range(4):
                i = k * 32 + threadIdx.x
                if i < n:
                    y[i] = x[i] * 3.0

    return module.build()


def define_tiles():
    """Build a kernel with two buffers in shared memory, which a function fills."""
    with hidet.script_module() as module:

        @hidet.script
        def load_tile(tile: f32[4, 8], row: ~f32, x: f32[8, 32], k: i32):
            i = threadIdx.x
            tile[i // 8, i % 8] = x[k, i]
            row[i] = x[k, i] * 2.0

        @hidet.script
        def buffers(x: f32[8, 32], y: f32[8, 32]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            attrs.cuda.dynamic_smem_bytes = 2 * 128 + 2 * 128
            smem = as_tensor_pointer(dynamic_shared_memory(0, f32), f32, [2, 4, 8])
            doubled = as_tensor_pointer(dynamic_shared_memory(256, f32), f32, [2, 32])
            i = threadIdx.x
            load_tile(~smem[0, 0, 0], ~doubled[0, 0], x, 0)
            for k in range(8):
                syncthreads()
                if k < 7:
                    load_tile(~smem[(k + 1) % 2, 0, 0], ~doubled[(k + 1) % 2, 0], x, k + 1)
                y[k, i] = smem[k % 2, 3 - i // 8, 7 - i % 8] + doubled[k % 2, i]

    return module.build()


@pytest.fixture(scope="module")
def kernels():
    """Return the kernels."""
    return define_streams()


def test_numbers(kernels):
    """They compute what they do in CUDA."""
    x, y = torch.randn(200), poison(torch.empty(200))
    kernels.copy(x, y, 200)
    assert torch.equal(x, y)

    a, b = (torch.randn(512, 2).half() for _ in range(2))
    out = torch.zeros(1)
    kernels.dot(a, b.reshape(1024), out)
    assert_close(out[0], (a.double() * b.double()).sum(), 2e-2)

    x, y = torch.rand(64) + 0.01, poison(torch.empty(64))
    kernels.inverse_sqrt(x, y)
    assert_close(y, x.double().rsqrt(), 1e-6)

    x, y = torch.randn(8, 32), poison(torch.empty(8, 32))
    define_tiles()(x, y)
    assert_close(y, x.flip(1).double() + 2 * x.double(), 1e-6)


def test_in_place(kernels):
    """A kernel takes the same tensor twice only if it allows aliasing; the error says how."""
    x = torch.randn(100)
    before = x.clone()
    kernels.scale(x, x, 100)
    assert_close(x, before.double() * 3, 1e-6)
    kernels.scale(x[:99], x[1:], 99)  # overlapping; each of them is computed from something
    assert "__restrict__" not in kernels.scale.source()
    with pytest.raises(HidetError, match="share memory") as caught:
        kernels.copy(x, x, 100)
    assert "attrs.cuda.may_alias = True" in caught.value.hint


def test_nvcc(kernels, tmp_path):
    """They compile for both architectures, without memory for registers."""
    if shutil.which("nvcc") is None:
        pytest.skip("needs nvcc")
    source = "\n".join((kernels.source(), define_tiles().source()))
    for arch in ("sm_80", "sm_90a"):
        log = Nvcc(arch).compile(source, tmp_path / f"{arch}.cubin")
        assert "spill" not in str(log) or "0 bytes spill stores" in str(log)


# Bits.


def test_reinterpret():
    """Bits are those that numpy sees, for all sizes."""
    with hidet.script_module() as module:

        @hidet.script
        def bits(
            f: f32[64],
            d: f64[64],
            h: f16[64],
            w: u32[64],
            b: u8[64],
            out: u32[8, 64],
            q: u64[2, 64],
        ):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 64
            i = threadIdx.x
            out[0, i] = cuda.__float_as_uint(f[i])
            out[1, i] = reinterpret(reinterpret(w[i], f32), i32)
            out[2, i] = u32(reinterpret(h[i], u16))
            out[3, i] = reinterpret(f16x2(h[i], h[63 - i]), u32)
            halves = reinterpret(w[i], f16x2)
            out[4, i] = reinterpret(f16x2(halves.y, halves.x), u32)
            low = reinterpret(d[i], u32x2)
            out[5, i] = low.x ^ low.y
            quarter = reinterpret(f16x4(h[i], h[63 - i], h[i], h[i]), u32x2)
            out[6, i] = quarter.x + quarter.y
            out[7, i] = reinterpret(reinterpret(cast(b, ~u32)[i // 4], "u8x4"), u32)
            q[0, i] = reinterpret(d[i], u64)
            q[1, i] = reinterpret(reinterpret(reinterpret(f32x2(f[i], f[63 - i]), f64), i64), u64)

    f, d, h = (np.random.randn(64).astype(kind) for kind in ("f4", "f8", "f2"))
    w, b = (np.random.randint(0, 1 << k, 64, dtype=f"u{k // 8}") for k in (32, 8))
    out, q = torch.zeros(8, 64, dtype=torch.uint32), torch.zeros(2, 64, dtype=torch.uint64)
    module.build()(*map(torch.from_numpy, (f, d, h, w, b)), out, q)
    pairs = np.stack([h, h[::-1]], 1)
    wanted = [
        f.view("u4"),
        w,
        h.view("u2").astype("u4"),
        pairs.copy().view("u4")[:, 0],
        (w >> 16) | (w << 16),
        d.view("u8").astype("u4") ^ (d.view("u8") >> 32).astype("u4"),
        pairs.copy().view("u4")[:, 0] + np.stack([h, h], 1).view("u4")[:, 0],
        np.repeat(b.view("u4"), 4),
    ]
    for row, expected in zip(out.numpy(), wanted, strict=True):
        np.testing.assert_array_equal(row, expected)
    np.testing.assert_array_equal(q[0].numpy(), d.view("u8"))
    np.testing.assert_array_equal(q[1].numpy(), np.stack([f, f[::-1]], 1).view("u8")[:, 0])


# Vectors.


@pytest.mark.parametrize(("kind", "dtype"), [(f16x2, torch.float16), (bf16x4, torch.bfloat16)])
def test_packed_arithmetic(kind, dtype):
    """Pairs are computed with one rounding each, as scalars are, and fma with one."""
    lanes = kind.lanes
    with hidet.script_module() as module:

        @hidet.script
        def packed(x: kind[256], y: kind[256], z: kind[256], out: kind[8, 256]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 256
            i = threadIdx.x
            a, b, c = x[i], y[i], z[i]
            out[0, i] = a * b + c
            out[1, i] = math.fma(a, b, c)
            out[2, i] = a - b
            out[3, i] = min(a, b)
            out[4, i] = max(a, c) * 2.0
            out[5, i] = -a
            out[6, i] = abs(b)
            out[7, i] = a * b.x

    x, y, z = (torch.randn(256, lanes).to(dtype) for _ in range(3))
    z[::2] *= 1e-3
    # A product in the middle of two numbers, and what is far below its last bit decides.
    info, tiny = torch.finfo(dtype), 2.0**-24 if dtype == torch.float16 else 2.0**-60
    x[0], y[0], z[0, ::2], z[0, 1::2] = 1.5, 1 + info.eps, tiny, -tiny
    out = poison(torch.empty(8, 256, lanes, dtype=dtype))
    compiled = module.build()
    compiled(x, y, z, out)
    exact = x.double() * y.double() + z.double()  # all bits of it fit a double for most
    wanted = [x * y + z, None, x - y, torch.minimum(x, y), torch.maximum(x, z) * 2, -x, y.abs()]
    for row, expected in enumerate([*wanted, x * y[:, :1]]):
        if expected is not None:
            assert torch.equal(out[row], expected), row
    assert ((out[1].double() - exact).abs() <= info.eps * exact.abs() * 0.50001 + 1e-12).all()
    above, below = 1.5 + 2 * info.eps, 1.5 + info.eps
    assert out[1, 0].tolist() == [above, below] * (lanes // 2)
    assert "hidet::packed_fma(" in compiled.source()


def test_vectors_in_memory():
    """Arrays of vectors in registers, shared memory, and spread over threads; elements of them."""
    with hidet.script_module() as module:

        @hidet.script
        def turn(t: ~f32x4, by: i32):
            t[by].w = t[by].w + t[by][0]

        @hidet.script
        def kernel(x: f32x4[32], y: f32x4[4, 32], z: f16x8[32]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            i = threadIdx.x
            shared = shared_tensor(f32x4, [2, 32])
            own = register_tensor("f32x4", [2])
            tile = register_tensor(f32x2, [32], local_layout(32))
            shared[0, i] = x[i]
            shared[1, i] = 1.0
            shared[1, i].y = 2.0
            shared[1, i][2] += 3.0
            syncthreads()
            own[0] = shared[0, 31 - i]
            own[1] = own[0] * x[i].z
            own[1].x = -own[1].x
            turn(~own[0], 1)
            for k in spatial(32).on(i):
                tile[k] = f32x2(own[1].y, own[1].w)
                tile[k].x += 1.0
            y[0, i] = own[1]
            y[1, i] = shared[1, i]
            for k in spatial(32).on(i):
                y[2, i] = f32x4(tile[k].x, tile[k].y, 0.0, 0.0)
            v = x[i]
            for _ in range(3):
                v.y += v.x
            v[3] = 0.0
            y[3, i] = v
            wide = z[i]
            wide = wide + wide
            wide[1] = 5.0
            z[i] = wide

    x, y = torch.randn(32, 4), poison(torch.empty(4, 32, 4))
    z = torch.randn(32, 8).half()
    expected = z * 2
    expected[:, 1] = 5
    compiled = module.build()
    compiled(x, y, z)
    own = x.flip(0) * x[:, 2:3]
    own[:, 0] *= -1
    own[:, 3] += own[:, 0]
    assert_close(y[0], own.double(), 1e-6)
    assert torch.equal(y[1], torch.tensor([1.0, 2.0, 4.0, 1.0]).expand(32, 4))
    assert_close(y[2, :, :2], own[:, [1, 3]].double() + torch.tensor([1.0, 0.0]), 1e-6)
    changed = x.double()
    changed[:, 1] += 3 * changed[:, 0]
    changed[:, 3] = 0
    assert_close(y[3], changed, 1e-6)
    assert torch.equal(z, expected)
    assert "hidet::copy_vector<float, 4>(&shared[0][i][0], buf" in compiled.source()


# Pointers.


def test_pointers():
    """Casts, sums and comparisons of pointers, and pointers that may be None."""
    with hidet.script_module() as module:

        @hidet.script
        def add(y: ~f32, bias: ~f32, i: i32):
            if bias is not None:
                y[i] += bias[i]

        @hidet.script
        def kernel(x: ~f32, bias: ~f32, y: ~f32, raw: void_p, flags: ~i32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            i = threadIdx.x
            smem = shared_tensor("f32", [4, 8])
            smem[i // 8, i % 8] = x[i]
            syncthreads()
            row = cast(~smem[1, 0], ~f32)
            bits = cast(~smem[0, 0], ~u16) + 1
            y[i] = (row - 8)[i] + f32(bits[2 * i])
            add(y, bias, i)
            add(y, void_p(0), i)
            bytes_of = raw + 4 * i
            flags[i] = cast(bytes_of, ~i32)[0] + i32(cast(raw, ~i16)[2 * i])
            if i == 0 and bias == x:
                flags[0] = -1
            if (cast(raw, u64) + 16) % 16 != 0 or cast(void_p(0), u64) != 0:
                flags[1] = -2

    compiled = module.build()
    x, bias = torch.randn(32), torch.randn(32)
    raw = torch.randint(-(1 << 30), 1 << 30, (32,), dtype=torch.int32)
    high = torch.from_numpy(x.numpy().view("u2")[1::2].astype("f4"))
    for given in (bias, None, x):
        y, flags = poison(torch.empty(32)), torch.empty(32, dtype=torch.int32)
        compiled(x, given, y, raw, flags)
        wanted = x.double() + high.double()
        assert_close(y, wanted if given is None else wanted + given.double(), 1e-6)
        expected = raw + torch.from_numpy(raw.numpy().view("i2")[::2].astype("i4"))
        expected[0] = -1 if given is x else expected[0]
        assert torch.equal(flags, expected)
    with pytest.raises(HidetError, match="argument 'x' of kernel 'kernel' is a NoneType"):
        compiled(None, bias, y, raw, flags)


def test_strict():
    """The strict mode sees through views: two halves of a word are no race, and bugs are found."""
    with option.context(strict=True), hidet.script_module() as module:

        @hidet.script
        def kernel(y: f32x4[32], bug: i32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 64
            i = threadIdx.x
            words = shared_tensor("u32", [32])
            halves = cast(~words[0], ~u16)
            if bug != 1 or i < 63:
                halves[i + (1 if bug == 2 else 0)] = u16(i)
            syncthreads()
            if bug == 3 and i == 5:
                halves[7] = u16(0)
            if i < 32:
                y[i] = f32(words[i] >> 16)

        compiled = module.build()
        y = poison(torch.empty(32, 4))
        compiled(y, 0)
        assert torch.equal(y[:, 0], torch.arange(32) * 2.0 + 1)
        with pytest.raises(HidetError, match=r"reads words.31. in .*, which nothing has written"):
            compiled(y, 1)
        with pytest.raises(HidetError, match=r"accesses halves.64. .* outside of its extent 64"):
            compiled(y, 2)
        with pytest.raises(HidetError, match=r"a race: .*words.3."):
            compiled(y, 3)
