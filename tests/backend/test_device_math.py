"""Math and conversions of the device header against higher precision, on every device."""

import ctypes
import os
import re
from dataclasses import dataclass

import mpmath
import numpy as np
import pytest
import torch

from hidet.backend.toolchains import Gxx


def assert_within_ulps(got, expected, ulps):
    """Compare with a reference of higher precision, in units of the last place."""
    with np.errstate(all="ignore"):
        rounded = expected.astype(got.dtype)
        nan, infinite = np.isnan(rounded), np.isinf(rounded)
        assert (np.isnan(got) == nan).all()
        assert (got[infinite] == rounded[infinite]).all()
        finite = ~nan & ~infinite
        difference = np.abs(got[finite].astype(expected.dtype) - expected[finite])
        errors = difference / np.spacing(np.abs(rounded[finite]))
    assert errors.size == 0 or errors.max() <= ulps, f"{errors.max()} ulps at {errors.argmax()}"


# ---- math ----------------------------------------------------------------------------------------


def _exactly(function):
    """Make a reference from a function of mpmath, for all real numbers."""

    def apply(x):
        return np.array([float(function(float(v))) for v in x], np.longdouble)

    return apply


UNARY = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "erf": _exactly(mpmath.erf), "erfc": _exactly(mpmath.erfc),
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.round, "abs": np.abs,
}  # fmt: skip

BINARY = {
    "atan2": np.arctan2,
    "pow": np.power,
    "fmod": np.fmod,
    "remainder": lambda x, y: torch.remainder(*_tensors(x, y)).numpy().astype(np.longdouble),
    "maximum": np.maximum,
    "minimum": np.minimum,
    "fmax": np.fmax,
    "fmin": np.fmin,
}

SPECIAL = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-40,
    -1e-40,
    1e30,
    -1e30,
    0.5,
    1.5,
    2.5,
    -0.5,
    -1.5,
]


def _tensors(*arrays):
    return [torch.from_numpy(array.astype(np.float64)) for array in arrays]


def _numbers(rng, dtype):
    """Draw numbers of all sizes, with the special ones."""
    parts = [
        rng.normal(0, 3, 400),
        rng.uniform(-1, 1, 300),
        10 ** rng.uniform(-12, 12, 300),
        SPECIAL,
    ]
    return np.concatenate(parts).astype(dtype)


def _rows(text, kernel):
    """Read which function a row of a kernel's output belongs to."""
    body = text.split(f"\n{kernel}(")[1].split("\nHIDET_KERNEL")[0]
    return re.findall(r"out\[n \* \d+ \+ i\] = hidet::(\w+)\(", body)


@pytest.mark.parametrize(("name", "dtype"), [("float", np.float32), ("double", np.float64)])
def test_unary(device, kernel_sources, rng, name, dtype):
    """Elementary functions are right to a few units of the last place, where they are defined."""
    x = _numbers(rng, dtype)
    rows = _rows(kernel_sources["math"], f"unary_{name}")
    assert set(rows) == set(UNARY)
    out = device.poisoned((len(rows), x.size), dtype)
    device.launch(f"unary_{name}", device.blocks(x.size), x, out, ctypes.c_int(x.size))
    for row, function in zip(out, rows, strict=True):
        with np.errstate(all="ignore"):
            expected = UNARY[function](x.astype(np.longdouble))
        exact = function in ("floor", "ceil", "trunc", "round", "abs")
        assert_within_ulps(row, expected, 0 if exact else 6)


@pytest.mark.parametrize(("name", "dtype"), [("float", np.float32), ("double", np.float64)])
def test_binary(device, kernel_sources, rng, name, dtype):
    """So are functions of two numbers; NaN goes the way that torch says."""
    x, y = _numbers(rng, dtype), _numbers(rng, dtype)
    special = np.array(SPECIAL, dtype)
    x = np.concatenate([x, np.repeat(special, special.size)])
    y = np.concatenate([rng.permutation(y), np.tile(special, special.size)])
    rows = _rows(kernel_sources["math"], f"binary_{name}")
    assert set(rows) == set(BINARY)
    out = device.poisoned((len(rows), x.size), dtype)
    device.launch(f"binary_{name}", device.blocks(x.size), x, y, out, ctypes.c_int(x.size))
    for row, function in zip(out, rows, strict=True):
        with np.errstate(all="ignore"):
            expected = BINARY[function](x.astype(np.longdouble), y.astype(np.longdouble))
        exact = function in ("maximum", "minimum", "fmax", "fmin")
        assert_within_ulps(row, expected, 0 if exact else 6)


@pytest.mark.parametrize(("name", "dtype"), [("float", np.float32), ("double", np.float64)])
def test_fma_and_predicates(device, rng, name, dtype):
    """A fused multiply-add rounds once: what is left after the product's rounding comes out."""
    x, y = _numbers(rng, dtype), rng.normal(size=1014).astype(dtype)
    with np.errstate(all="ignore"):
        z = -(x * y)
        exact = x.astype(np.longdouble) * y.astype(np.longdouble) + z.astype(np.longdouble)
    fused = device.poisoned(x.size, dtype)
    nan, inf = device.poisoned(x.size, bool), device.poisoned(x.size, bool)
    size = ctypes.c_int(x.size)
    device.launch(f"other_{name}", device.blocks(x.size), x, y, z, fused, nan, inf, size)
    # Of the double's residual the longdouble has only the first bits.
    if dtype is np.float32:
        normal = np.isfinite(exact) & (np.abs(exact) > 1e-30)
        assert np.count_nonzero(exact[normal]) > 300
        assert (fused[normal] == exact[normal]).all()
    else:
        with np.errstate(all="ignore"):
            assert (np.abs(fused) <= np.spacing(np.abs(z)))[np.isfinite(z)].all()
        assert np.count_nonzero(fused) > 300
    assert (nan == np.isnan(x)).all()
    assert (inf == np.isinf(x)).all()


@pytest.mark.parametrize(("name", "dtype"), [("int", np.int32), ("long", np.int64)])
def test_integers(device, kernel_sources, rng, name, dtype):
    """Division of integers rounds down, for all signs."""
    info = np.iinfo(dtype)
    a = rng.integers(info.min, info.max, 2000, dtype, endpoint=True)
    b = rng.integers(info.min, info.max, 2000, dtype, endpoint=True)
    a[:1000] = rng.integers(-20, 20, 1000)
    b[:1500] = rng.integers(-9, 9, 1500)
    a[0] = info.min
    b[(b == 0) | ((a == info.min) & (b == -1))] = 7
    rows = _rows(kernel_sources["math"], f"integer_{name}")
    out = device.poisoned((len(rows), a.size), dtype)
    device.launch(f"integer_{name}", device.blocks(a.size), a, b, out, ctypes.c_int(a.size))
    references = {
        "maximum": np.maximum, "minimum": np.minimum,
        "floordiv": np.floor_divide, "floormod": np.remainder,
        "abs": lambda a, b: np.abs(a),  # numpy leaves the smallest integer as it is, too
    }  # fmt: skip
    assert set(rows) == set(references)
    for row, function in zip(out, rows, strict=True):
        assert (row == references[function](a, b)).all(), function


# ---- conversions ---------------------------------------------------------------------------------


def _convert(device, name, x, dtype):
    out = device.poisoned(x.size, dtype)
    device.launch(name, device.blocks(x.size), x, out, ctypes.c_int(x.size))
    return out


def _check_from_16_bits(device, name, torch_dtype):
    """Compare what all patterns of 16 bits are as floats, signs of zeros included."""
    patterns = np.arange(1 << 16, dtype=np.uint16)
    got = _convert(device, name, patterns, np.float32)
    expected = torch.from_numpy(patterns.view(np.int16)).view(torch_dtype).float().numpy()
    nan = np.isnan(expected)
    assert (np.isnan(got) == nan).all()
    assert (got.view(np.uint32)[~nan] == expected.view(np.uint32)[~nan]).all()


def _check_to_16_bits(device, name, torch_dtype, rng):
    """Compare the rounding of every pattern, of all midpoints between them, and of any floats."""
    patterns = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(torch_dtype)
    exact = patterns.double()[torch.isfinite(patterns)].unique().numpy()
    middle = ((exact[1:] + exact[:-1]) / 2).astype(np.float32)
    random = rng.integers(0, 1 << 32, 1 << 17, np.uint32).view(np.float32)
    edges = np.array([65504.0, 65519.996, 65520.0, 3.39e38, np.inf, np.nan, -0.0], np.float32)
    infinity = np.float32(np.inf)
    up, down = np.nextafter(middle, infinity), np.nextafter(middle, -infinity)
    x = np.concatenate([exact.astype(np.float32), middle, up, down, random, edges, -edges])
    got = _convert(device, name, x, np.uint16)
    expected = torch.from_numpy(x).to(torch_dtype).view(torch.int16).numpy().view(np.uint16)
    got_nan = torch.from_numpy(got.view(np.int16)).view(torch_dtype).isnan().numpy()
    nan = np.isnan(x)
    assert (got_nan == nan).all()
    assert (got[~nan] == expected[~nan]).all()


@pytest.mark.parametrize("name", ["half", "bfloat16"])
def test_16_bit_floats(device, rng, name):
    """Conversions agree with torch for every pattern, and round to nearest even."""
    torch_dtype = getattr(torch, name)
    _check_from_16_bits(device, f"{name}_to_float", torch_dtype)
    _check_to_16_bits(device, f"float_to_{name}", torch_dtype, rng)


@dataclass(frozen=True)
class OldGxx(Gxx):
    """g++ for a processor without instructions for halves."""

    @property
    def options(self):
        """The options, for the oldest x86-64."""
        return ["-march=x86-64" if o == "-march=native" else o for o in super().options]


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="aarch64 always has the instructions")
def test_halves_without_instructions(build_cpu, rng):
    """The conversions that are written out agree with torch as well."""
    device = build_cpu(OldGxx(), "convert")
    _check_from_16_bits(device, "half_to_float", torch.float16)
    _check_to_16_bits(device, "float_to_half", torch.float16, rng)


def test_casts(device, rng):
    """Casts do what torch's do."""
    x = np.concatenate([rng.normal(0, 1e4, 1000), [0.0, -0.0, 0.9, -0.9, 2.5, -2.5]])
    single = x.astype(np.float32)
    halves = single.astype(np.float16)
    whole = rng.integers(-(2**62), 2**62, 1000)
    assert (_convert(device, "float_to_int", single, np.int32) == np.trunc(single)).all()
    assert (_convert(device, "double_to_long", x * 1e9, np.int64) == np.trunc(x * 1e9)).all()
    assert (_convert(device, "half_to_int", halves, np.int32) == np.trunc(halves)).all()
    small = rng.uniform(-128.9, 127.9, 1000).astype(np.float32)
    assert (_convert(device, "float_to_char", small, np.int8) == np.trunc(small)).all()
    assert (_convert(device, "long_to_float", whole, np.float32) == whole.astype(np.float32)).all()
    for name, source, kind in (
        ("double_to_half", x, torch.float16),
        ("long_to_half", whole >> 45, torch.float16),
        ("half_to_bfloat16", halves, torch.bfloat16),
    ):
        expected = torch.from_numpy(source).to(kind).view(torch.int16).numpy()
        assert (_convert(device, name, source, np.int16) == expected).all()


def test_tf32(device, rng):
    """Of the mantissa 10 bits are left, ties are rounded away from zero; NaN and infinity stay.

    Signaling NaN, which no arithmetic gives, may become infinite: the bits that tell are cut off.
    """
    random = rng.integers(0, 1 << 32, 1 << 16, np.uint32)
    middle = (random & 0xFFFFE000) | 0x1000
    edges = np.array([0, 1e-45, 1e-40, np.inf, np.nan, np.finfo(np.float32).max], np.float32)
    words = np.concatenate([random, middle, middle - 1]).view(np.float32)
    x = np.concatenate([words, edges, -edges])
    got = _convert(device, "float_to_tf32", x, np.float32)
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        unit = 2.0 ** (np.maximum(np.frexp(wide)[1], -125) - 11)
        expected = (np.trunc(wide / unit + np.copysign(0.5, wide)) * unit).astype(np.float32)
    nan = np.isnan(x)
    quiet = nan & (x.view(np.uint32) >> 22 & 1 == 1)
    assert np.isnan(got[quiet]).all()
    assert (got[~nan] == expected[~nan]).all()


def test_truth(device):
    """A number is true unless it is zero; NaN is true."""
    x = np.array([0.0, -0.0, 1e-45, -3.0, np.nan, np.inf], np.float32)
    truth = np.array([0, 0, 1, 1, 1, 1], bool)
    assert (_convert(device, "float_to_bool", x, bool) == truth).all()
    halves = np.array([0.0, -0.0, 6e-8, -3.0, np.nan, np.inf], np.float16)
    assert (_convert(device, "half_to_bool", halves, bool) == truth).all()
    whole = np.array([0, 1, -1, 256, 1 << 31 - 1], np.int32)
    assert (_convert(device, "int_to_bool", whole, bool) == (whole != 0)).all()
    assert (_convert(device, "bool_to_half", truth, np.float16) == truth).all()


def test_bit_cast(device, rng):
    """The bits of a number survive the way to an integer and back."""
    x = rng.integers(0, 1 << 32, 1000, np.uint32).view(np.float32)
    to_int, back = device.poisoned(x.size, np.int32), device.poisoned(x.size, np.float32)
    device.launch("bits", device.blocks(x.size), x, to_int, back, ctypes.c_int(x.size))
    assert (to_int == x.view(np.int32)).all()
    assert (back.view(np.int32) == x.view(np.int32)).all()
