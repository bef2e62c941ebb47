"""The meanings in the table of scalar functions, against references that do not share their code.

`tests/frontends/script/test_scalar_functions.py` compares the device with the meanings, so an error
that both have shows here alone.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from hidet.arch.functions import FAST_FUNCTIONS, FUNCTIONS, RANDOM_FUNCTIONS, Operand


def bits(word):
    """Return the bits of a word, the highest one first."""
    return f"{int(word):032b}"


def shifted(low, high, count, left):
    """Return a word of `high:low`, shifted bit by bit."""
    row = bits(high) + bits(low)
    for _ in range(count):
        row = row[1:] + "0" if left else "0" + row[:-1]
    return int(row[:32] if left else row[32:], 2)


def of_torch(function):
    """Return a function of floats that torch computes in f64."""
    return lambda *numbers: function(
        *(torch.tensor(x, dtype=torch.float64) for x in numbers)
    ).item()


def gamma(x):
    """Return the gamma function by its logarithm, by reflection for negative numbers."""
    if x < 0:
        return math.pi / (math.sin(math.pi * x) * gamma(1 - x))
    return math.exp(of_torch(torch.lgamma)(x))


REFERENCES = {
    "popc": lambda x: bits(x).count("1"),
    "clz": lambda x: (bits(x) + "1").index("1"),
    "ffs": lambda x: bits(x)[::-1].find("1") + 1,
    "brev": lambda x: sum((int(x) >> k & 1) << 31 - k for k in range(32)),
    "umulhi": lambda x, y: int(np.uint64(x) * np.uint64(y) >> np.uint64(32)),
    "funnelshift_l": lambda low, high, n: shifted(low, high, n % 32, left=True),
    "funnelshift_lc": lambda low, high, n: shifted(low, high, min(n, 32), left=True),
    "funnelshift_r": lambda low, high, n: shifted(low, high, n % 32, left=False),
    "funnelshift_rc": lambda low, high, n: shifted(low, high, min(n, 32), left=False),
    "isnan": lambda x: x != x,
    "isinf": lambda x: x in (-math.inf, math.inf),
    "isfinite": lambda x: x - x == 0,
    "erfc": of_torch(torch.special.erfc),
    "gamma": gamma,
    "lgamma": of_torch(torch.lgamma),
    "fmod": of_torch(torch.fmod),
    "ieee_remainder": lambda x, y: float(
        Fraction(x) - Fraction(y) * round(Fraction(x) / Fraction(y))
    ),
    "hypot": of_torch(torch.hypot),
    "nextafter": lambda x, y: float(np.nextafter(x, y)),
    "ldexp": lambda x, n: float(np.ldexp(x, n)),
    "fast_divide": of_torch(torch.div),
}
"""What each function returns, by other means than those of its meaning."""

SPECIAL = (0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -3.5, math.inf, -math.inf, math.nan)


def samples(kind, rng):
    """Return numbers of the kind of an operand: special ones, and random ones."""
    if kind in (Operand.FLOAT, Operand.FLOAT32):
        return [*SPECIAL, *rng.normal(0, 4, 40).tolist()]
    if kind is Operand.NUMBER:
        return [0, 1, -1, *rng.integers(-30, 30, 47).tolist()]
    return [0, 1, 31, 32, 33, 64, 1 << 31, (1 << 32) - 1, *rng.integers(0, 1 << 32, 42).tolist()]


def is_defined(name, numbers):
    """Return whether the reference knows the result."""
    if name == "ieee_remainder":
        return all(map(math.isfinite, numbers)) and numbers[1] != 0
    if name == "gamma":  # no pole
        return math.isfinite(numbers[0]) and not (numbers[0] <= 0 and numbers[0] % 1 == 0)
    return True


@pytest.mark.parametrize(
    "name", sorted(FUNCTIONS.keys() - RANDOM_FUNCTIONS.keys() - FAST_FUNCTIONS.keys())
)
def test_meaning(name):
    """A function means what its name and its summary say; a new one needs a reference here."""
    entry, rng = FUNCTIONS[name], np.random.default_rng()
    columns = [rng.permutation(samples(kind, rng)).tolist() for kind in entry.takes]
    rows = [row for row in zip(*columns, strict=True) if is_defined(name, row)]
    assert len(rows) > 20
    for row in rows:
        actual, expected = entry.meaning(*row), REFERENCES[name](*row)
        assert actual == pytest.approx(expected, rel=1e-9, abs=0, nan_ok=True), row


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [
        ([0] * 2, [0] * 4, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        (
            [0xFFFFFFFF] * 2,
            [0xFFFFFFFF] * 4,
            [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
        ),
        (
            [0xA4093822, 0x299F31D0],
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox(key, counter, expected):
    """The words are those of Random123's known answers (kat_vectors)."""
    philox = RANDOM_FUNCTIONS["philox"].meaning
    assert [philox(*key, *counter, number) for number in range(4)] == expected
