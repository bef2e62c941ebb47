"""The table of scalar functions: bit manipulation, and functions of C that `math` lacks.

An entry defines a function except for its body in the device header and its name in `hidet.lang`:
the operation `cuda.function` verifies its types by it, the printer calls it, and scripts convert
operands and fold constants by it. See NVIDIA's CUDA Math API Reference.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from hidet.arch.instructions import Instruction


class Operand(Enum):
    """The kinds of parameters, as types of the IR; the comments have the types in C."""

    FLOAT = ("f32", "f64")  # float, double
    FLOAT32 = ("f32",)  # float
    WORD = ("i32", "i64")  # unsigned int, unsigned long long
    WORD32 = ("i32",)  # unsigned int
    NUMBER = ("i32", "i32")  # int, whatever the width of the others
    TRUTH = ("i1", "i1")  # bool


@dataclass(frozen=True)
class ScalarFunction(Instruction):
    """A pure function of scalars.

    Attributes:
        takes: the kinds of the parameters; all floats and words of a call have one width.
        gives: the kind of the result, of that width too.
        meaning: the function on Python numbers; words have 32 bits.
    """

    takes: tuple[Operand, ...] = ()
    gives: Operand = Operand.FLOAT
    meaning: Callable[..., float] = float
    summary: str = ""

    def signature(self, wide: bool) -> tuple[tuple[str, ...], str]:
        """Return the types of the operands and of the result, by their names in the IR."""
        *takes, gives = (each.value[-1 if wide else 0] for each in (*self.takes, self.gives))
        return tuple(takes), gives


_MASK = 0xFFFFFFFF


def _popc(x: int) -> int:
    return (x & _MASK).bit_count()


def _clz(x: int) -> int:
    return 32 - (x & _MASK).bit_length()


def _ffs(x: int) -> int:
    return (x & -x & _MASK).bit_length()


def _brev(x: int) -> int:
    return int(f"{x & _MASK:032b}"[::-1], 2)


def _umulhi(x: int, y: int) -> int:
    return (x & _MASK) * (y & _MASK) >> 32


def _funnel(left: bool, clamped: bool) -> Callable[[int, int, int], int]:
    """Return the funnel shift of two words: a left one returns the high word, a right one the low.

    The count is clamped to 32, or taken modulo 32.
    """

    def meaning(low: int, high: int, count: int) -> int:
        both = (high & _MASK) << 32 | low & _MASK
        bits = min(count & _MASK, 32) if clamped else count % 32
        return (both << bits >> 32 if left else both >> bits) & _MASK

    return meaning


def _philox(*words: int) -> int:
    """Return a word of Philox4x32-10 of a key and a counter.

    Source: Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3 (SC 2011).
    """
    k0, k1, a, b, c, d, number = (word & _MASK for word in words)
    for _ in range(10):
        left, right = a * 0xD2511F53, c * 0xCD9E8D57
        a, b = right >> 32 ^ b ^ k0, right & _MASK
        c, d = left >> 32 ^ d ^ k1, left & _MASK
        k0, k1 = (k0 + 0x9E3779B9) & _MASK, (k1 + 0xBB67AE85) & _MASK
    return (a, b, c, d)[number % 4]


def _or_nan(remainder: Callable[[float, float], float]) -> Callable[[float, float], float]:
    """Return a remainder that is NaN where Python raises an error."""
    return lambda x, y: math.nan if math.isinf(x) or y == 0 else remainder(x, y)


def _gamma(x: float) -> float:
    """Return the gamma function, also at poles and on overflow, where Python raises an error."""
    try:
        return math.gamma(x)
    except OverflowError:
        return math.copysign(math.inf, x)
    except ValueError:
        return math.copysign(math.inf, x) if x == 0 else math.nan


def _lgamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except (OverflowError, ValueError):
        return math.inf


_KINDS = {
    "f": Operand.FLOAT,
    "w": Operand.WORD,
    "u": Operand.WORD32,
    "n": Operand.NUMBER,
    "t": Operand.TRUTH,
}


def _table(*rows: tuple[str, str, Callable[..., float], str]) -> dict[str, ScalarFunction]:
    """Return functions by name, from rows: name, types (`ff->t`), meaning, summary."""
    entries = [
        ScalarFunction(
            name,
            (),
            ptx="",
            arch=50,
            takes=tuple(_KINDS[letter] for letter in types[:-3]),
            gives=_KINDS[types[-1]],
            meaning=meaning,
            summary=summary,
        )
        for name, types, meaning, summary in rows
    ]
    return {entry.function: entry for entry in entries}


_LEFT = "the upper word of `high:low` shifted left by"
_RIGHT = "the lower word of `high:low` shifted right by"
_WRAP, _CLAMP = "`count % 32` bits of (low, high, count)", "up to 32 bits of (low, high, count)"

BIT_FUNCTIONS: dict[str, ScalarFunction] = _table(
    ("popc", "w->n", _popc, "the number of bits set"),
    ("clz", "w->n", _clz, "the number of zeros above the highest bit set, all bits for 0"),
    ("ffs", "w->n", _ffs, "the place of the lowest bit set, from 1 on, 0 for 0"),
    ("brev", "w->w", _brev, "the bits in reverse"),
    ("umulhi", "uu->u", _umulhi, "the upper word of the product of two words without signs"),
    ("funnelshift_l", "uuu->u", _funnel(left=True, clamped=False), f"{_LEFT} {_WRAP}"),
    ("funnelshift_lc", "uuu->u", _funnel(left=True, clamped=True), f"{_LEFT} {_CLAMP}"),
    ("funnelshift_r", "uuu->u", _funnel(left=False, clamped=False), f"{_RIGHT} {_WRAP}"),
    ("funnelshift_rc", "uuu->u", _funnel(left=False, clamped=True), f"{_RIGHT} {_CLAMP}"),
)
"""Functions of words by name."""

FLOAT_FUNCTIONS: dict[str, ScalarFunction] = _table(
    ("isnan", "f->t", math.isnan, "whether x is NaN"),
    ("isinf", "f->t", math.isinf, "whether x is infinite"),
    ("isfinite", "f->t", math.isfinite, "whether x is a finite number"),
    ("erfc", "f->f", math.erfc, "1 - erf(x), precise for large x"),
    ("gamma", "f->f", _gamma, "the gamma function of x"),
    ("lgamma", "f->f", _lgamma, "the logarithm of |gamma(x)|"),
    ("fmod", "ff->f", _or_nan(math.fmod), "x - y * trunc(x / y), exactly, with the sign of x"),
    ("ieee_remainder", "ff->f", _or_nan(math.remainder), "x - y * round(x / y), exactly"),
    ("hypot", "ff->f", math.hypot, "the length of the vector (x, y)"),
    ("nextafter", "ff->f", math.nextafter, "the number that follows x on the way to y"),
    ("ldexp", "fn->f", math.ldexp, "x times 2 to the power of an integer"),
)
"""Functions of floats by name, which the `math` dialect does not have."""

RANDOM_FUNCTIONS: dict[str, ScalarFunction] = _table(
    (
        "philox",
        "uuuuuuu->u",
        _philox,
        "word `number % 4` of Philox4x32-10 for (key0, key1, c0, c1, c2, c3, number), the words of "
        "a key and a counter",
    ),
)
"""Random number generators on words, by name."""


def _rsqrt(x: float) -> float:
    return float(1 / np.sqrt(x))


FAST_FUNCTIONS: dict[str, ScalarFunction] = {
    f"fast_{name}": ScalarFunction(
        f"fast_{name}",
        (),
        f"{ptx}.f32",
        arch,
        takes=(Operand.FLOAT32,),
        gives=Operand.FLOAT32,
        meaning=meaning,
        summary=f"{name}(x) of an f32 by one instruction, with an error of {error}",
    )
    # Functions of numpy return infinity or NaN where Python raises an error.
    for name, meaning, ptx, arch, error in (
        ("exp2", np.exp2, "ex2.approx.ftz", 50, "about 2^-22 of the result"),
        ("log2", np.log2, "lg2.approx.ftz", 50, "about 2^-22"),
        ("sin", np.sin, "sin.approx.ftz", 50, "about 2^-20 from -pi to pi"),
        ("cos", np.cos, "cos.approx.ftz", 50, "about 2^-20 from -pi to pi"),
        ("tanh", np.tanh, "tanh.approx", 75, "about 2^-11 of the result"),
        ("rcp", np.reciprocal, "rcp.approx.ftz", 50, "about 2^-23 of the result"),
        ("rsqrt", _rsqrt, "rsqrt.approx.ftz", 50, "about 2^-22 of the result"),
        ("sqrt", np.sqrt, "sqrt.approx.ftz", 50, "about 2^-23 of the result"),
    )
}
"""Approximate functions of an f32 by name; subnormals are flushed to zero. The CPU is precise."""


def _quotient(x: float, y: float) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.divide(x, y))


FAST_DIVIDE = ScalarFunction(
    "fast_divide",
    (),
    "div.full.f32",
    50,
    takes=(Operand.FLOAT32, Operand.FLOAT32),
    gives=Operand.FLOAT32,
    meaning=_quotient,
    summary="x / y of two f32, with an error of at most 2 units in the last place",
)

FUNCTIONS: dict[str, ScalarFunction] = (
    BIT_FUNCTIONS
    | FLOAT_FUNCTIONS
    | RANDOM_FUNCTIONS
    | FAST_FUNCTIONS
    | {FAST_DIVIDE.function: FAST_DIVIDE}
)
"""All functions of `cuda.function`, by name."""
