"""Scalar functions of scripts: results of the CPU against the table; nvcc."""

import math
import shutil

import numpy as np
import pytest
import torch

import hidet
from hidet.arch.functions import BIT_FUNCTIONS, FLOAT_FUNCTIONS, FUNCTIONS, Operand
from hidet.backend.toolchains import Nvcc
from hidet.lang import attrs, cuda, f16, f32, f64, i32, i64, meta, u8, u32, u64
from hidet.lang import math as lang_math
from hidet.lang.cuda import blockIdx, threadIdx

FLOATS = {"f32": (f32, np.float32), "f64": (f64, np.float64)}
WORDS = {"i32": i32, "u32": u32, "i64": i64, "u64": u64}
OF_MATH = {
    **{name: entry.meaning for name, entry in FLOAT_FUNCTIONS.items()},
    "acosh": np.arccosh,
    "asinh": np.arcsinh,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "copysign": np.copysign,
    "degrees": np.degrees,
    "radians": np.radians,
}
PAIR = (Operand.FLOAT, Operand.FLOAT)
BINARY = {"copysign", *(name for name, entry in FLOAT_FUNCTIONS.items() if entry.takes == PAIR)}


def float_pairs(dtype):
    """Return pairs of numbers: all of the special ones, and random ones of several sizes."""
    limits = np.finfo(dtype)
    special = [0.0, 1.0, 2.5, limits.max, limits.tiny, limits.smallest_subnormal, np.inf]
    special = [*special, *(-each for each in special), np.nan]
    random = np.random.default_rng()
    pairs = [(x, y) for x in special for y in special]
    for size in (1e-3, 1.0, 5.0, 1e6):
        pairs += list(zip(*random.normal(0, size, (2, 50)), strict=True))
    return np.array(pairs, dtype).T.copy()


def floats(kind, names, n):
    """Build a kernel that computes a row per function of x, or of x and y."""
    with hidet.script_module() as module:

        @hidet.script
        def floats(x: kind[n], y: kind[n], k: i32[n], out: kind[len(names), n]):
            attrs.cuda.grid_dim = n
            attrs.cuda.block_dim = 1
            i = blockIdx.x
            for row, name in enumerate(names):
                function = getattr(math, name, None)
                if function is None or name == "remainder":
                    function = getattr(lang_math, name)
                if name in BINARY:
                    out[row, i] = function(x[i], y[i])
                elif name == "ldexp":
                    out[row, i] = function(x[i], k[i])
                else:
                    out[row, i] = function(x[i])

    return module.build()


@pytest.mark.parametrize("name", FLOATS)
def test_functions_of_floats(name):
    """All are those of Python, with zeros of both signs, infinities, NaN, and denormal numbers."""
    kind, dtype = FLOATS[name]
    x, y = float_pairs(dtype)
    k = np.random.default_rng().integers(-20, 20, len(x)).astype(np.int32)
    out = np.full((len(OF_MATH), len(x)), 77, dtype)
    floats(kind, list(OF_MATH), len(x))(x, y, k, out)
    with np.errstate(all="ignore"):
        for row, (function, meaning) in zip(out, OF_MATH.items(), strict=True):
            arguments = [(a, b) for a, b in zip(x, y, strict=True)]
            if function == "ldexp":
                arguments = list(zip(x.astype(float), k, strict=True))
            elif function not in BINARY:
                arguments = [(a,) for a in x]
            if function == "nextafter":
                wanted = np.nextafter(x, y)
            else:
                values = [reference(meaning, *each) for each in arguments]
                wanted = np.array(values, np.float64).astype(dtype)
            same(function, row, wanted, arguments)


def reference(meaning, *arguments):
    """Compute with doubles of Python, infinite where that raises an error."""
    numbers = [int(e) if isinstance(e, np.int32) else float(e) for e in arguments]
    try:
        return float(meaning(*numbers))
    except OverflowError:
        return math.copysign(math.inf, numbers[0])


def same(name, row, wanted, arguments):
    """Check a row: equal NaNs, and finite values to a few ulps."""
    ulps = 0 if name in ("isnan", "isinf", "isfinite", "fmod", "copysign", "nextafter") else 12
    # The logarithm of gamma has zeros, near which errors are absolute.
    tolerance = 3e-7 * (row.dtype == np.float32) + 1e-14 if name == "lgamma" else 0
    both = (row == wanted) | (np.isnan(row) & np.isnan(wanted))
    with np.errstate(all="ignore"):
        spacing = np.spacing(np.abs(wanted))
        both |= np.abs(row - wanted) <= ulps * spacing + tolerance
    assert both.all(), [(arguments[i], row[i], wanted[i]) for i in np.flatnonzero(~both)[:5]]
    zeros = (wanted == 0) & (name in ("fmod", "copysign", "cbrt", "asinh"))
    assert (np.signbit(row) == np.signbit(wanted))[zeros].all(), name


def words(kind, names, n):
    """Build a kernel that computes a row per function of up to three words."""
    with hidet.script_module() as module:

        @hidet.script
        def words(x: kind[n, 3], out: kind[len(names), n]):
            attrs.cuda.grid_dim = n
            attrs.cuda.block_dim = 1
            i = blockIdx.x
            for row, name in enumerate(names):
                operands = [x[i, k] for k in meta.range(len(FUNCTIONS[name].takes))]
                out[row, i] = getattr(cuda, name)(*operands)

    return module.build()


@pytest.mark.parametrize("name", WORDS)
def test_functions_of_words(name):
    """Results match the table, for random words and those with few or many bits set."""
    kind = WORDS[name]
    bits = kind.bits
    takes_wide = [n for n, entry in BIT_FUNCTIONS.items() if Operand.WORD in entry.takes]
    names = takes_wide if bits == 64 else list(BIT_FUNCTIONS)
    edges = [0, 1, 2, 31, 32, 33, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits) - 1]
    random = np.random.default_rng()
    unsigned = np.dtype(f"u{bits // 8}")
    dtype = unsigned if kind.kind == "unsigned" else np.dtype(f"i{bits // 8}")
    x = random.integers(0, (1 << bits) - 1, (69, 3), unsigned, endpoint=True)
    x[:9, 0] = x[9:18, 1] = x[:9, 2] = edges
    out = np.full((len(names), len(x)), 77, dtype)
    words(kind, names, len(x))(x.view(dtype), out)
    for row, each in zip(out.view(unsigned), names, strict=True):
        takes = len(FUNCTIONS[each].takes)
        assert row.tolist() == [meaning_of(each, bits)(*line[:takes]) for line in x.tolist()], each


def philox(n):
    """Build a kernel that computes the four words of n counters and keys."""
    with hidet.script_module() as module:

        @hidet.script
        def philox(x: u32[n, 6], out: u32[n, 4]):
            attrs.cuda.grid_dim = n
            attrs.cuda.block_dim = 4
            i, number = blockIdx.x, threadIdx.x
            key, counter = (x[i, 4], x[i, 5]), (x[i, 0], x[i, 1], x[i, 2], x[i, 3])
            out[i, number] = cuda.philox(*key, *counter, number)

    return module.build()


def test_philox():
    """Words are those of the file kat_vectors of the library Random123, and of the table."""
    random = np.random.default_rng().integers(0, 1 << 32, (50, 6), np.uint32)
    pi = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0)
    x = np.array([[0] * 6, [0xFFFFFFFF] * 6, pi, *random], np.uint32)
    out = np.zeros((len(x), 4), np.uint32)
    philox(len(x))(x, out)
    assert out[:3].tolist() == [
        [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8],
        [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ]
    meaning = FUNCTIONS["philox"].meaning
    for (*counter, k0, k1), words in zip(x.tolist(), out.tolist(), strict=True):
        assert words == [meaning(k0, k1, *counter, number) for number in range(4)]


def meaning_of(name, bits):
    """Return a function of words in Python, for any number of bits."""
    if name == "clz":
        return lambda x: bits - x.bit_length()
    if name == "brev":
        return lambda x: int(f"{x:0{bits}b}"[::-1], 2)
    if name == "popc":
        return int.bit_count
    if name == "ffs":
        return lambda x: (x & -x).bit_length()
    return FUNCTIONS[name].meaning


def test_numbers_of_python():
    """Compile-time operands are folded; narrow words are sign-extended, wide ones kept."""
    assert cuda.popc(0xFF) == 8
    assert cuda.clz(-1) == 0
    assert lang_math.isfinite(math.inf) is False
    with hidet.script_module() as module:

        @hidet.script
        def known(h: f16, b: u8, t: i64, out: f32[8]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 1
            for k in meta.range(cuda.popc(0b101)):
                out[k] = lang_math.fmod(7.5, 2)
            out[2] = lang_math.hypot(h, 4)
            out[3] = cuda.popc(b)
            out[4] = cuda.clz(1 << 40)
            out[5] = cuda.clz(b)
            out[6] = cuda.popc(t)
            out[7] = math.remainder(h, 2)

    out = np.full(8, 77, np.float32)
    module.build()(3.0, 200, -1, out)
    assert out.tolist() == [1.5, 1.5, 5, 3, 23, 24, 64, -1]


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_nvcc_takes_the_source(tmp_path, arch):
    """The source is CUDA C++."""
    kernels = [floats(f32, list(OF_MATH), 4), floats(f64, list(OF_MATH), 4)]
    kernels += [words(u32, list(BIT_FUNCTIONS), 4), words(i64, ["popc", "clz", "ffs", "brev"], 4)]
    kernels.append(philox(4))
    for number, built in enumerate(kernels):
        Nvcc(arch).compile(built.source(), tmp_path / f"{number}.cubin")


def test_replacements_of_functions_of_math():
    """The replacements of `ulp`, `modf` and `frexp` in `calls` compute the same."""
    with hidet.script_module() as module:

        @hidet.script
        def substitutes(x: f32[256], ulp: f32[256], parts: f32[256, 2], exponent: i32[256]):
            attrs.cuda.grid_dim = 256
            attrs.cuda.block_dim = 1
            i = blockIdx.x
            v = x[i]
            ulp[i] = lang_math.nextafter(abs(v), math.inf) - abs(v)
            parts[i, 0], parts[i, 1] = v - lang_math.trunc(v), lang_math.trunc(v)
            exponent[i] = (hidet.lang.reinterpret(v, i32) >> 23 & 255) - 126

    random = np.random.default_rng()
    x = (random.normal(size=256) * 10.0 ** random.uniform(-9, 9, 256)).astype(np.float32)
    ulp, parts = np.full(256, np.nan, np.float32), np.full((256, 2), np.nan, np.float32)
    exponent = np.full(256, 77, np.int32)
    module.build()(*map(torch.from_numpy, (x, ulp, parts, exponent)))
    np.testing.assert_array_equal(ulp, np.spacing(abs(x)))
    np.testing.assert_array_equal(parts, np.stack(np.modf(x), axis=1))
    np.testing.assert_array_equal(exponent, np.frexp(x)[1])
