"""Integers wrap around and divide as in Python, whatever their type: against numpy."""

import importlib.util
import random
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import hidet
from hidet.lang import attrs, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from hidet.lang.cuda import threadIdx
from hidet.testing.numeric import poison


def load(path):
    """Import a module from a file, anew."""
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[path.stem] = module
    specification.loader.exec_module(module)
    return module


integer_programs = load(Path(__file__).parent / "integer_programs.py")


def check_programs(folder, seed, count):
    """Run random programs in one kernel and compare all that they compute."""
    generator = integer_programs.Generator(random.Random(seed))
    programs = [generator.program(number) for number in range(count)]
    path = folder / f"programs_{seed}.py"
    path.write_text(integer_programs.module_text(programs, generator))
    built = load(path).module.build()
    inputs = [torch.from_numpy(value.copy()) for value in generator.inputs.values()]
    shape = (count, integer_programs.THREADS)
    outputs = {
        kind: torch.from_numpy(np.full(shape, 77, dtype))
        for kind, dtype in integer_programs.TYPES.items()
    }
    built(*inputs, *outputs.values(), *(int(value) for value in generator.scalars.values()))
    for number, (statements, kind, expected) in enumerate(programs):
        found = outputs[kind][number].numpy()
        wrong = np.flatnonzero(found != expected)
        if wrong.size:
            t = wrong[0]
            values = {name: value[t] for name, value in generator.inputs.items()}
            pytest.fail(
                f"seed {seed}, thread {t}: {found[t]} should be {expected[t]}\n"
                + "\n".join(statements)
                + f"\n{values} {generator.scalars}"
            )


@pytest.mark.parametrize("strict", [False, True])
def test_programs(tmp_path, strict):
    """A hundred random programs, of other numbers each time."""
    seed = random.randrange(1 << 32)
    with hidet.option.context(strict=strict):
        for number in range(2):
            check_programs(tmp_path, seed + number, 50 if not strict else 25)


@pytest.mark.slow
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("_run", range(40))
def test_many_programs(_run, strict, tmp_path):
    """Two thousand, plain and in strict mode, others each time."""
    with hidet.option.context(strict=strict):
        check_programs(tmp_path, random.randrange(1 << 32), 50)


def run_one(module, *arguments):
    """Build the only kernel of a module and run it."""
    module.build()(*arguments)


LIMITS = (float("nan"), float("inf"), -float("inf"), 3e9, -3e9, 1e19, -1e19, 2e19, 300.7, -300.7)


@pytest.mark.parametrize(("element", "dtype"), [(f32, np.float32), (f64, np.float64)])
def test_floats_saturate(element, dtype):
    """A float becomes the nearest integer that there is, and NaN becomes 0."""
    random_values = np.random.default_rng().uniform(-1, 1, 22) * 10.0 ** np.arange(22)
    x = np.array([*LIMITS, *random_values], dtype)
    wanted = {i8: "i1", i16: "i2", i32: "i4", i64: "i8", u8: "u1", u16: "u2", u32: "u4", u64: "u8"}
    for kind, name in wanted.items():
        with hidet.script_module() as module:

            @hidet.script
            def convert(x: element[32], y: kind[32]):
                attrs.cuda.grid_dim = 1
                attrs.cuda.block_dim = 32
                y[threadIdx.x] = x[threadIdx.x]

        limits = np.iinfo(name)
        expected = [
            0 if np.isnan(v) else limits.max if v >= limits.max
            else limits.min if v <= limits.min else int(v)
            for v in x.tolist()
        ]  # fmt: skip
        y = torch.from_numpy(np.full(32, 77, name))
        run_one(module, torch.from_numpy(x), y)
        assert y.numpy().tolist() == expected, name


def test_short_floats_round_at_every_operation():
    """An expression of f16 is numpy's; with f32(x) it is rounded once."""
    with hidet.script_module() as module:

        @hidet.script
        def expressions(a: f16[256], b: f16[256], each: f16[256], once: f16[256]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 256
            i = threadIdx.x
            each[i] = a[i] * b[i] + a[i] / (b[i] * b[i] + 1)
            once[i] = f32(a[i]) * b[i] + a[i] / (f32(b[i]) * b[i] + 1)

    a, b = (torch.randn(256).half() for _ in range(2))
    each, once = (poison(torch.empty(256, dtype=torch.half)) for _ in range(2))
    run_one(module, a, b, each, once)
    p, q = a.numpy(), b.numpy()
    np.testing.assert_array_equal(each.numpy(), p * q + p / (q * q + np.float16(1)))
    r, s = p.astype(np.float64), q.astype(np.float64)
    wanted = r * s + r / (s * s + 1)
    assert (np.abs(once.numpy() - wanted) <= 5e-4 * np.abs(wanted) + 1e-5).all()
    assert (each != once).any()


def test_accumulators_take_the_type_of_what_is_added():
    """`s = 0` becomes a float, a double, or a wider integer, in loops and branches."""
    with hidet.script_module() as module:

        @hidet.script
        def sums(x: f32[64], h: f16[64], d: f64[64], w: i64[64], y: f64[8], n: i64[2]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 1
            s = t = best = 0
            twice = half = count = 0.0
            wide = small = 0
            for i in range(8):
                for j in range(8):
                    s += x[i * 8 + j]
                    twice += d[i * 8 + j]
                if i % 2 == 0:
                    t = t + x[i]
                    count += 0.5
                best = max(best, x[i])
                half += h[i]
                wide += w[i]
                small += i
            y[0], y[1], y[2], y[3], y[4], y[5] = s, t, best, twice, half, count
            n[0], n[1] = wide, small

    x, d = torch.randn(64), torch.randn(64, dtype=torch.float64)
    h, w = torch.randn(64).half(), torch.randint(-(1 << 62), 1 << 62, (64,))
    y, n = torch.full((8,), float("nan"), dtype=torch.float64), torch.zeros(2, dtype=torch.int64)
    built = module.build()
    built(x, h, d, w, y, n)
    wanted = [x.double().sum(), x[:8:2].double().sum(), x[:8].double().max().clamp(min=0)]
    wanted += [d.sum(), h[:8].double().sum(), torch.tensor(2.0)]
    assert torch.allclose(y[:6], torch.stack([each.double() for each in wanted]), atol=1e-5)
    assert abs(y[3] - d.sum()) < 1e-12
    assert n.tolist() == [w[:8].sum().item(), 28]
    for line in ("float s = 0.0f;", "double twice = 0.0;", "float half = 0.0f;", "int small = 0;"):
        assert line in built.source()


def test_division_by_zero_and_the_smallest_number():
    """No division ends the process; floor division on the host, in grids and in kernels."""
    from hidet.utils import cdiv

    with hidet.script_module() as module:

        @hidet.script
        def divide(x: i64[4], y: i64[8], n: i32, d: i32):
            attrs.cuda.grid_dim = cdiv(n, 7)
            attrs.cuda.block_dim = 1
            y[0], y[1] = x[0] // x[1], x[0] % x[1]
            y[2], y[3] = x[2] // x[3], x[2] % x[3]
            y[4], y[5], y[6] = x[2] / x[3], cdiv(n, 5), cdiv(-n, d)
            y[7] = (-7) // d

        @hidet.script
        def launch(x: i64[4], y: i64[8], n: i32, d: i32) -> i32:
            attrs.func_kind = "public"
            divide(x, y, n, d)
            return cdiv(n, d) * 100 + n % d

    smallest = -(1 << 63)
    x, y = torch.tensor([smallest, -1, 5, 0]), torch.full((8,), 77)
    assert module.build()(x, y, 16, -3) == -5 * 100 - 2
    assert y.tolist() == [smallest, 0, -1, 5, -1, 4, 6, 2]


def test_numbers_of_numpy():
    """`np.int64(3)` is an integer wherever Python's are: sizes, indices, operands, arguments."""
    size, three = np.int64(8), np.int32(3)
    sizes = (np.int64(2), size)

    def add_three(value):
        for i in hidet.lang.range(np.int32(0), three, np.int8(1)):
            value += i
        return np.int64(3) + value * np.float64(1)

    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[size], n: i32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = size
            tile = hidet.lang.register_tensor("float32", sizes)
            tile[1, three] = x[three]
            for _ in range(three):
                tile[1, three] += 1
            if threadIdx.x == 0 and three == 3:
                x[0] = add_three(tile[1, three]) + n

    x = torch.arange(8, dtype=torch.float32)
    run_one(module, x, np.int64(10))
    assert x[0] == 3 + 3 + (0 + 1 + 2) + 3 + 10


def test_u32_and_index():
    """A u32 and an index wrap around as in CUDA, where both are unsigned."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(s: u32, y: u32[64, 6], z: i32[64, 2]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 64
            i = threadIdx.x
            y[i, 0] = (s + i) >> 1
            y[i, 1] = (s ^ i) * 2654435761 >> 7
            y[i, 2] = (i - s) // 3
            y[i, 3] = (u32(1) << i) >> 3
            y[i, 4] = (i * s) % 1000
            h = s
            h += i
            y[i, 5] = h * 31 >> 5
            z[i, 0] = i < s
            z[i, 1] = i - 1 < s

    s = 2**32 - 296
    y, z = torch.zeros(64, 6, dtype=torch.uint32), torch.zeros(64, 2, dtype=torch.int32)
    module.build()(s, y, z)
    for i in range(64):
        products = (s ^ i) * 2654435761 % 2**32 >> 7, i * s % 2**32 % 1000
        moved = (1 << i) % 2**32 >> 3
        sums = (s + i) % 2**32 >> 1, (i - s) % 2**32 // 3, (s + i) * 31 % 2**32 >> 5
        expected = [sums[0], products[0], sums[1], moved, products[1], sums[2]]
        assert y[i].tolist() == expected
        assert z[i].tolist() == [1, 1]
