"""Script kernels of functions of two numbers that iterate, a thread per element.

The number of iterations depends on the elements. Equations of DLMF, the NIST Digital Library of
Mathematical Functions, are cited; Lentz's method: W. Press et al., Numerical Recipes, 3rd edition,
5.2.
"""

from collections.abc import Callable
from functools import cache
from math import nan, pi
from typing import Any

from hidet.driver.script import CompiledFunction
from hidet.frontends.script import script, script_module
from hidet.lang import attrs, cdiv, f64, i64
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.lang.math import erfc, exp, isinf, lgamma, log, log1p, sqrt

THREADS = 256
EPSILON = 2.0**-53
LARGE = 1e5
"""The incomplete gamma function is computed by its uniform asymptotic expansion from here on."""
LONGEST = 1e4
"""The maximal length of a fraction, which errors of rounding might keep from settling."""


@script
def expanded(a, mu):
    """Return Q(a, x) for a large a: DLMF 8.12.4 with terms of 8.12.9 and 8.12.10; mu = x / a - 1.

    The terms left out are below 1e-13.
    """
    half = mu - log1p(mu)
    eta = sqrt(2.0 * half) if mu > 0.0 else -sqrt(2.0 * half)
    first = -1.0 / 3.0 + eta * (1.0 / 12.0 - eta * (2.0 / 135.0 - eta * (1.0 / 864.0)))
    second = -1.0 / 540.0 - eta / 288.0
    rest = exp(-a * half) / sqrt(2.0 * pi * a) * (first + second / a)
    return 0.5 * erfc(eta * sqrt(a / 2.0)) + rest


@script
def power(a, x, mu):
    """Return x^a exp(-x) / Gamma(a + 1), for a >= 10 by Stirling's series, DLMF 5.11.1."""
    if a < 10.0:
        return exp(a * log(x) - x - lgamma(a + 1.0))
    z = 1.0 / (a * a)
    stirling = (1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z / 1680.0))) / a
    return exp(-a * (mu - log1p(mu)) - stirling) / sqrt(2.0 * pi * a)


@script
def incomplete_gamma(a, x, upper):
    """Return P(a, x), or Q(a, x) if `upper`: by the series DLMF 8.11.4 or the fraction 8.9.2."""
    one, zero = (0.0, 1.0) if upper else (1.0, 0.0)
    if a < 0.0 or x < 0.0 or (a == 0.0 and not x > 0.0) or (isinf(a) and isinf(x)):
        return f64(nan)
    if a != 0.0 and (x == 0.0 or isinf(a)):
        return f64(zero)
    if a == 0.0 or isinf(x):
        return f64(one)
    mu = (x - a) / a
    if a > LARGE:
        q = expanded(a, mu)
        return q if upper else 1.0 - q
    k = f64(0.0)
    if x < a + 1.0:
        term, total = f64(1.0), f64(1.0)
        while term > EPSILON * total:
            k += 1.0
            term *= x / (a + k)
            total += term
        p = power(a, x, mu) * total
        return 1.0 - p if upper else p
    b = x + 1.0 - a
    c, d = f64(1e300), 1.0 / b
    fraction, change = f64(d), f64(0.0)
    while abs(change - 1.0) > 4.0 * EPSILON and k < LONGEST:
        k += 1.0
        b += 2.0
        d = 1.0 / (k * (a - k) * d + b)
        c = b + k * (a - k) / c
        change = c * d
        fraction *= change
    q = power(a, x, mu) * a * fraction
    return q if upper else 1.0 - q


@script
def polynomial(x, n, following):
    """Return the orthogonal polynomial of degree n by its recurrence, DLMF 18.9.1; 0 for n < 0."""
    if not (n > -1.0 and n < 2.0**62):
        return f64(0.0)
    before, value = f64(0.0), f64(1.0)
    for k in range(i64(n)):
        after = following(x, f64(k), before, value)
        before = value
        value = after
    return value


@script
def greatest_divisor(a, b):
    """Return the greatest common divisor by Euclid's algorithm."""
    while b != 0:
        rest = a - a / b * b
        a = b
        b = rest
    return a


def by_recurrence(following: Callable[..., Any]) -> tuple[Any, Callable[..., Any]]:
    """Return the entry of orthogonal polynomials, each of which follows from the two before."""
    return f64, lambda x, n: polynomial(x, n, following)


FUNCTIONS: dict[str, tuple[Any, Callable[..., Any]]] = {
    "gcd": (i64, greatest_divisor),
    "hermite_h": by_recurrence(lambda x, k, p, q: 2.0 * (x * q - k * p)),
    "hermite_he": by_recurrence(lambda x, k, p, q: x * q - k * p),
    "igamma": (f64, lambda a, x: incomplete_gamma(a, x, upper=False)),
    "igammac": (f64, lambda a, x: incomplete_gamma(a, x, upper=True)),
    "laguerre": by_recurrence(lambda x, k, p, q: ((2.0 * k + 1.0 - x) * q - k * p) / (k + 1.0)),
    "legendre": by_recurrence(lambda x, k, p, q: ((2.0 * k + 1.0) * x * q - k * p) / (k + 1.0)),
}
"""The functions, with their element types."""


@cache
def elementwise(name: str, count: int) -> CompiledFunction:
    """Return the kernel `name(x, y, out)` of a function of the table; all are vectors."""
    kind, function = FUNCTIONS[name]

    with script_module() as module:

        @script
        def elementwise(x: kind[count], y: kind[count], out: kind[count]):
            attrs.func_name = name
            attrs.cuda.grid_dim = cdiv(count, THREADS)
            attrs.cuda.block_dim = THREADS
            i = blockIdx.x * THREADS + threadIdx.x
            if i < count:
                out[i] = function(x[i], y[i])

    return getattr(module.build(), name)
