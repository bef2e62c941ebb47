"""What the language means: results on the CPU against Python, and IR and CUDA by FileCheck."""

import inspect
import math

import pytest
import torch

import hidet
from hidet.lang import (
    as_tensor_pointer,
    attr,
    attrs,
    auto_map,
    bf16,
    cdiv,
    column_major,
    f16,
    f32,
    f64,
    grid,
    i8,
    i32,
    i64,
    local_layout,
    meta,
    register_tensor,
    repeat,
    row_major,
    shared_tensor,
    spatial,
    u8,
    u32,
)
from hidet.lang.cuda import (
    all_sync,
    any_sync,
    atomic_add,
    atomic_cas,
    atomic_exchange,
    atomic_max,
    atomic_min,
    atomic_sub,
    ballot_sync,
    blockDim,
    blockIdx,
    gridDim,
    shfl_down_sync,
    shfl_sync,
    shfl_up_sync,
    shfl_xor_sync,
    syncthreads,
    syncwarp,
    threadIdx,
)
from hidet.lang.math import exp, fma, rsqrt
from hidet.testing.filecheck import check_text
from hidet.testing.numeric import assert_close, poison

N = 64


def uniform(*shape):
    return torch.rand(*shape) * 2 - 1


def test_control_flow():
    """if, else, return, continue, loops in both directions, loops over lists, merged names."""
    with hidet.script_module() as module:

        @hidet.script
        def flow(x: f32[N], y: i32[N], out: f32[N], n: i32, s: f32):
            attr.cuda_grid_dim = 1
            attr.cuda_block_dim = N
            i = threadIdx.x
            if i >= n:
                return
            acc = 0.0
            for k in range(10, 0, -2):
                if k == 4:
                    continue
                acc += x[i] * k
            for a, b in grid(2, 3, attrs="u."):
                acc += a * 3 + b
            if y[i] > 3:
                t = acc + s
                count = 1
            elif y[i] > 1:
                t = acc - s
                count = 2
            else:
                t = acc
                count = y[i]
            for a, b in [(1, 2.0), (3, 4.0)]:
                t2 = t * a + b
                acc = acc + t2
            for k in range(y[i]):
                k += 1
                acc += k
            first, second = (t if i % 2 == 0 and x[i] > 0 else 1), 0 <= i < 5 or not x[i] > 0
            out[i] = acc + first + count + second

    def expected(x, y, i, s):
        acc = sum(x * k for k in (10, 8, 6, 2)) + sum(a * 3 + b for a in (0, 1) for b in range(3))
        t, count = (acc + s, 1) if y > 3 else (acc - s, 2) if y > 1 else (acc, y)
        acc += (t * 1 + 2.0) + (t * 3 + 4.0)
        acc += sum(k + 1 for k in range(y))
        first = t if i % 2 == 0 and x > 0 else 1
        return acc + first + count + (0 <= i < 5 or not x > 0)

    x, y = uniform(N), torch.randint(0, 6, (N,), dtype=torch.int32)
    out = poison(torch.empty(N))
    module.build()(x, y, out, 50, 0.5)
    wanted = [
        expected(a, b, i, 0.5) for i, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True))
    ]
    assert_close(out[:50], torch.tensor(wanted[:50], dtype=torch.float64), 1e-5)
    assert out[50:].isnan().all()


def test_while():
    """Loops that end by their condition, or by a `break` that nothing else ends."""
    with hidet.script_module() as module:

        @hidet.script
        def search(x: i32[N], wanted: i32[N], out: i32[N, 2], n: i32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = N
            i = threadIdx.x
            low, high = 0, n
            while low < high:  # binary search
                middle = (low + high) // 2
                if x[middle] < wanted[i]:
                    low = middle + 1
                else:
                    high = middle
            out[i, 0] = low
            steps = 0
            value = i + 1
            while True:
                if value == 1 or steps >= 20:
                    break
                steps += 1
                if value % 2 == 0:
                    value = value // 2
                    continue
                value = 3 * value + 1
            out[i, 1] = steps

    x = torch.randint(0, 100, (N,), dtype=torch.int32).sort().values
    wanted, out = torch.randint(0, 100, (N,), dtype=torch.int32), poison(torch.empty(N, 2).int())
    built = module.build()
    built(x, wanted, out, N)

    def collatz(value):
        steps = 0
        while value != 1 and steps < 20:
            steps, value = steps + 1, value // 2 if value % 2 == 0 else 3 * value + 1
        return steps

    assert torch.equal(out[:, 0].long(), torch.searchsorted(x, wanted))
    assert out[:, 1].tolist() == [collatz(i + 1) for i in range(N)]
    assert "while (low < high) {" in built.source()
    assert "scf.while" in built.ir()


def test_break():
    """Loops over ranges that are left, in both directions, and inside of them unrolled ones."""
    with hidet.script_module() as module:

        @hidet.script
        def leave(x: i32[N], wanted: i32[N], out: i32[N, 2], n: i32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = N
            i = threadIdx.x
            out[i, 0] = -1
            for k in range(n - 1, -1, -1):
                if x[k] <= wanted[i]:
                    out[i, 0] = k
                    break
            total = 0
            for k in range(3, N, 2):
                if k > i:
                    break
                for a in [1, 2]:
                    if a == 2:
                        break
                    total += k * a
            out[i, 1] = total

    x = torch.randint(0, 100, (N,), dtype=torch.int32).sort().values
    wanted, out = torch.randint(0, 100, (N,), dtype=torch.int32), poison(torch.empty(N, 2).int())
    module.build()(x, wanted, out, N)
    assert torch.equal(out[:, 0].long(), torch.searchsorted(x, wanted, right=True) - 1)
    assert out[:, 1].tolist() == [sum(range(3, i + 1, 2)) for i in range(N)]


def test_scalar_types():
    """Types meet as in C; stores and annotated variables convert."""
    with hidet.script_module() as module:

        @hidet.script
        def types(
            a: f16[N], b: bf16[N], c: i8[N], d: u8[N], e: i64[N], out: f64[N, 12], bits: u32[N, 4]
        ):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = N
            i = threadIdx.x
            out[i, 0] = a[i] * b[i]  # in f32
            out[i, 1] = a[i] * 2.5  # in f16
            out[i, 2] = c[i] // 3 * 1.5
            out[i, 3] = c[i] % 7
            out[i, 4] = d[i] / f32(3)
            out[i, 5] = e[i] + c[i]
            narrow: i8 = e[i]
            out[i, 6] = narrow
            out[i, 7] = int(a[i] * 10) + float(d[i])
            out[i, 8] = c[i] > d[i]
            out[i, 9] = i / f64(3)
            out[i, 10] = -c[i] + abs(c[i]) + max(c[i], 5, i)
            out[i, 11] = f64(a[i]) ** 2 + exp(f64(b[i])) + math.sqrt(d[i])
            word = u32(d[i]) * 0x01010101
            bits[i, 0] = word >> 3
            bits[i, 1] = (word << 2) ^ 0xFF
            bits[i, 2] = word // 7 & 0xFFFF | 1 << 30
            bits[i, 3] = ~word % 1000

    a, b = uniform(N).half(), uniform(N).bfloat16()
    c, d = torch.randint(-100, 100, (N,)).to(torch.int8), torch.randint(0, 256, (N,)).byte()
    e = torch.randint(-(1 << 40), 1 << 40, (N,))
    out, bits = poison(torch.empty(N, 12, dtype=torch.float64)), torch.empty(N, 4).to(torch.uint32)
    module.build()(a, b, c, d, e, out, bits)
    i, c64, d64 = torch.arange(N), c.long(), d.long()
    word = d64 * 0x01010101
    wanted = [
        (a.float() * b.float()).double(),
        (a.float() * 2.5).half().double(),
        torch.div(c64, 3, rounding_mode="floor") * 1.5,
        torch.remainder(c64, 7).double(),
        (d.float() / 3).double(),
        (e + c64).double(),
        e.to(torch.int8).double(),
        (a.float() * 10).half().float().trunc().double() + d64,
        (c64 > d64).double(),
        i / 3.0,
        -c64 + c64.abs() + torch.maximum(c64.clamp(min=5), i),
        a.double() ** 2 + b.double().exp() + d.float().sqrt().double(),
    ]
    assert_close(out, torch.stack([w.double() for w in wanted], 1), 1e-6)
    words = [word >> 3, (word << 2 & 0xFFFFFFFF) ^ 0xFF, word // 7 & 0xFFFF | 1 << 30]
    words.append((~word & 0xFFFFFFFF) % 1000)
    assert torch.equal(bits.long(), torch.stack(words, 1))


def test_functions():
    """Script functions, Python functions and lambdas become a part of the kernel."""

    def twice(value):
        return value + value

    with hidet.script_module() as module:

        @hidet.script
        def clamp(value: f32, low: f32, high: f32) -> f32:
            if value < low:
                return low
            elif value > high:
                return high
            return value

        @hidet.script
        def fill(pointer: ~f32, index, value):
            pointer[index] = value

        @hidet.script
        def apply(x: f32[N], out: ~f32):
            attrs.func_name = "applied"
            attrs.cuda.grid_dim = 2
            attrs.cuda.block_dim = N // gridDim.x
            i = blockIdx.x * blockDim.x + threadIdx.x
            functions = {"twice": twice, "square": lambda v: v * v}
            total = 0.0
            for name in ["twice", "square"]:
                total += functions[name](x[i])
            for k in meta.range(3):
                total += [10, 20, 30][k]
            fill(out + i, 0, clamp(total, 60, 61) + fma(x[i], 2, 1) + sum([i, 1]))

    x, out = uniform(N), poison(torch.empty(N))
    module.build().applied(x, out)
    total = (2 * x + x * x).double() + 60
    wanted = total.clamp(60, 61) + 2 * x.double() + 1 + torch.arange(N) + 1
    assert_close(out, wanted, 1e-5)


@pytest.mark.parametrize(
    "layout",
    [
        row_major(8, 16),
        column_major(8, 16),
        row_major(2, 4) * column_major(4, 4),
        hidet.lang.layout.strided_layout([8, 16], ranks=[1, 0]),
    ],
    ids=str,
)
def test_layouts(layout):
    """Layouts of shared, local and global tensors map elements to offsets as specified."""
    with hidet.script_module() as module:

        @hidet.script
        def transpose(x: f32[8, 16], placed: ~f32, out: f32[16, 8]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            tile = shared_tensor("f32", layout=layout)
            own = register_tensor(f32, [8, 16], layout)
            view = as_tensor_pointer(placed, "float32", layout=layout)
            for i, j in auto_map(8, 16, workers=32).on(threadIdx.x):
                tile[i, j] = x[i, j]
            syncthreads()
            for i, j in grid(8, 16):
                own[i, j] = tile[i, j]
            for i, j in auto_map(8, 16, workers=32).on(threadIdx.x):
                out[j, i] = own[i, j]
                view[i, j] = tile[i, j]

    x, placed, out = uniform(8, 16), poison(torch.empty(128)), poison(torch.empty(16, 8))
    module.build()(x, placed, out)
    assert torch.equal(out, x.T)
    for i in range(8):
        for j in range(16):
            assert placed[layout.register_index((i, j))] == x[i, j]


def test_register_tile_and_runtime_shape():
    """A register tile spread over threads; a tensor behind a pointer of a size of the call."""
    layout = local_layout(2, 4) * row_major(2, 2) * local_layout(2, 2) * row_major(1, 2)
    mapping = spatial(2, 4).repeat(2, 2).spatial(2, 2).repeat(1, 2)
    assert layout == mapping

    with hidet.script_module() as module:

        @hidet.script
        def scale(p: ~f32, q: ~f32, m: i32, n: i32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = mapping.workers
            x = as_tensor_pointer(p, "float32", [m, n])
            y = as_tensor_pointer(q, "float32", [m, n])
            tile = register_tensor("float32", layout=layout)
            for i, j in mapping.on(threadIdx.x):
                tile[i, j] = x[i, j] if i < m and j < n else 0.0
            for i, j in mapping.on(threadIdx.x):
                if i < m and j < n:
                    y[i, j] = tile[i, j] * 2

    built = module.build()
    for m, n in ((8, 32), (3, 5)):
        x, y = uniform(m, n), poison(torch.empty(m, n))
        built(x, y, m, n)
        assert torch.equal(y, x * 2)


def test_warp_and_atomics():
    """Shuffles, votes and atomics against their specification."""
    with hidet.script_module() as module:

        @hidet.script
        def warp(x: f32[32], out: f32[8, 32], sums: i32[2, 3], top: f32[1]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            i = threadIdx.x
            out[0, i] = shfl_sync(0xFFFFFFFF, x[i], 31 - i)
            out[1, i] = shfl_up_sync(0xFFFFFFFF, x[i], 3)
            out[2, i] = shfl_down_sync(0xFFFFFFFF, x[i], 3)
            out[3, i] = shfl_xor_sync(0xFFFFFFFF, x[i], 5)
            syncwarp()
            out[4, i] = any_sync(0xFFFFFFFF, x[i] > 0.5)
            out[5, i] = all_sync(0xFFFFFFFF, x[i] > -2)
            out[6, i] = ballot_sync(0xFFFFFFFF, i % 3 == 0)
            out[7, i] = shfl_xor_sync(0xFFFFFFFF, i, 1)
            atomic_add(~sums[1, 0], i)
            atomic_max(~sums[1, 1], i)
            atomic_min(~sums[1, 2], -i)
            atomic_max(~top[0], x[i])

    x, out = uniform(32), poison(torch.empty(8, 32))
    sums, top = torch.zeros(2, 3, dtype=torch.int32), torch.full((1,), -5.0)
    module.build()(x, out, sums, top)
    lanes = torch.arange(32)
    assert torch.equal(out[0], x.flip(0))
    assert torch.equal(out[1], x[torch.where(lanes >= 3, lanes - 3, lanes)])
    assert torch.equal(out[2], x[torch.where(lanes < 29, lanes + 3, lanes)])
    assert torch.equal(out[3], x[lanes ^ 5])
    assert torch.equal(out[4], torch.full((32,), float((x > 0.5).any())))
    assert torch.equal(out[5], torch.ones(32))
    assert torch.equal(out[6], torch.full((32,), float(sum(1 << k for k in range(0, 32, 3)))))
    assert torch.equal(out[7], (lanes ^ 1).float())
    assert sums.tolist() == [[0, 0, 0], [496, 31, -31]]
    assert top[0] == x.max()


@pytest.mark.parametrize("kind", [i32, i64, f32, f64], ids=str)
def test_atomic_exchange_and_sub(kind):
    """All values but one are handed on; of 64 differences none is lost."""
    with hidet.script_module() as module:

        @hidet.script
        def hand_on(x: kind[64], old: kind[64], place: kind[2]):
            attrs.cuda.grid_dim = 2
            attrs.cuda.block_dim = 32
            i = blockIdx.x * 32 + threadIdx.x
            old[i] = atomic_exchange(~place[0], x[i])
            atomic_sub(~place[1], x[i])

    dtype = {"i32": torch.int32, "i64": torch.int64, "f32": torch.float32}.get(kind.short_name)
    x = torch.randperm(64).to(dtype or torch.float64)
    old, place = poison(torch.empty_like(x)), torch.tensor([-1, 0], dtype=x.dtype)
    module.build()(x, old, place)
    assert sorted([*old.tolist(), place[0].item()]) == list(range(-1, 64))
    assert place[1] == -64 * 63 // 2


@pytest.mark.parametrize("kind", [i32, i64], ids=str)
def test_atomic_cas(kind):
    """A multiplication by compare and swap; the thread whose value is already there sees it."""
    with hidet.script_module() as module:

        @hidet.script
        def multiply(x: kind[32], product: kind[1]):
            attrs.cuda.grid_dim = 2
            attrs.cuda.block_dim = 16
            i = blockIdx.x * 16 + threadIdx.x
            seen = product[0]
            done = False
            while not done:
                old = atomic_cas(~product[0], seen, seen * x[i])
                done = old == seen
                seen = old

    dtype = torch.int32 if kind is i32 else torch.int64
    x = torch.where(torch.arange(32) % 3 == 0, 2, -1).to(dtype)
    product = torch.ones(1, dtype=dtype)
    module.build()(x, product)
    assert product[0] == x.prod()


def test_ir_of_a_kernel():
    """Names, loops, branches and task mappings have locations in the IR."""
    # CHECK:      #m0 = #task.map<repeat(2) * spatial(32)>
    # CHECK:      cuda.kernel @kernel(%x : memref<64xf32>, %p : memref<?xf32>, %n : i32)
    # CHECK-SAME: grid(2) block(32) attributes {cuda.explicit} {
    # CHECK:      %tid = cuda.thread_id x
    # CHECK-NEXT: %tile = memref.alloca() : memref<64xf32, #cuda.space<shared>>
    # CHECK-NEXT: %regs = memref.alloca() : memref<64xf32, #m0, #cuda.space<register>>
    # CHECK:      %total = memref.alloca() : memref<f32, #cuda.space<local>>
    # CHECK:      task.foreach (%i) in #m0 on %tid {
    # CHECK:      cuda.sync_threads
    # CHECK:      scf.for %k = %{{.*}} to %{{.*}} step %{{.*}} {
    # CHECK:      %[[C:.*]] = arith.cmpi slt, %k, %{{.*}} : index
    # CHECK:      scf.if %[[C]] {
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[64], p: ~f32, n: i32):
            attrs.cuda.grid_dim = 2
            attrs.cuda.block_dim = 32
            tile = shared_tensor("float32", [64])
            regs = register_tensor("float32", layout=row_major(2) * local_layout(32))
            total = 0.0
            for i in auto_map(64, workers=32).on(threadIdx.x):
                regs[i] = x[i]
                tile[i] = regs[i]
            syncthreads()
            for k in range(64):
                if k < n:
                    total += tile[k]
            p[threadIdx.x] = total

    checks = inspect.getsource(test_ir_of_a_kernel)
    check_text(str(module.ir_module()), checks)
    built = module.build()
    assert built.ir() == str(module.ir_module())
    assert "task.foreach" not in built.ir("cuda")
    assert "cuda.formed" in built.ir("final")


def test_cuda_of_constructs():
    """Constructs of the language as CUDA C++."""
    # CHECK:      // kernel
    # CHECK-NEXT: //   from {{.*}}test_language.py:{{[0-9]+}}
    # CHECK:      __launch_bounds__(64, 2) kernel(float* __restrict__ x, int n) {
    # CHECK-NEXT:   const int i = threadIdx.x;
    # CHECK-NEXT:   if (i < n) {
    # CHECK-NEXT:     const float x_value = x[i];
    # CHECK-NEXT:     float best = x_value;
    # CHECK-NEXT:     #pragma unroll 4
    # CHECK-NEXT:     for (int k = 0; k < 8; ++k) {
    # CHECK-NEXT:       best = hidet::fmax(best, x_value * hidet::cast<float>(k));
    # CHECK-NEXT:     }
    # CHECK-NEXT:     x[i] = best > 1.0f ? hidet::rsqrt(best) : 1.0f;
    # CHECK-NEXT:   }
    # CHECK-NEXT: }
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[64], n: i32):
            attrs.func_kind = "cuda_kernel"
            attrs.cuda.min_blocks = 2
            attrs.cuda.grid_dim = cdiv(64, 64)
            attrs.cuda.block_dim = 64
            i = threadIdx.x
            if i >= n:
                return
            best = x[i]
            for k in grid(8, attrs="u4"):
                best = max(best, x[i] * k)
            x[i] = rsqrt(best) if best > 1 else 1

    check_text(module.build().source(), inspect.getsource(test_cuda_of_constructs))


def test_barriers_are_those_of_the_script():
    """No barrier is added, and none is taken away."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[32]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            tile = shared_tensor("float32", [32])
            for i in spatial(32).on(threadIdx.x):
                tile[i] = x[i]
            syncthreads()
            syncthreads()
            for i in repeat(32).on(0):
                x[i] = tile[threadIdx.x]

    assert module.build().source().count("hidet::sync_threads();") == 2
