"""Bessel and Airy functions, orthogonal polynomials, and relatives of the gamma function.

All are computed in float64: by a power series near 0, where cancellation leaves at least 1e-10, and
by an asymptotic series beyond, up to its smallest term; or by a kernel that iterates. Errors are
relative to the function's amplitude.
"""

from collections.abc import Callable, Sequence
from math import exp, factorial, inf, lgamma, nan, pi, prod, sqrt
from typing import Any

import torch
from torch import Tensor

from hidet.frontends.torch.decomposed.refusal import require

aten = torch.ops.aten

GAMMA = 0.57721566490153286
"""Euler's constant."""


def _of(function: Callable[..., Tensor], *fixed: Any) -> Callable[..., Any]:
    """Compute a function, given its first arguments, in float64; integers give the default type."""

    def of_real(*arguments: Any) -> Any:
        kind = torch.result_type(arguments[0], arguments[-1])
        require(not kind.is_complex)
        device = next(each.device for each in arguments if isinstance(each, Tensor))
        wide = [torch.as_tensor(each, dtype=torch.float64, device=device) for each in arguments]
        return function(*fixed, *wide).to(
            kind if kind.is_floating_point else torch.get_default_dtype()
        )

    return of_real


def series(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    """Evaluate a polynomial, given its coefficients in ascending order."""
    total = torch.full_like(x, coefficients[-1])
    for each in reversed(coefficients[:-1]):
        total = total * x + each
    return total


def _hankel(order: int) -> list[float]:
    """Return the coefficients of the asymptotic series in 1/x of Bessel functions of an order."""
    steps = [(4 * order**2 - (2 * k - 1) ** 2) / (8 * k) for k in range(1, 17)]
    return [prod(steps[:k]) for k in range(17)]


def _waves(x: Tensor, shift: float, coefficients: Sequence[float]) -> tuple[Tensor, Tensor]:
    """Return the asymptotic series as two waves with a phase difference of pi / 2."""
    z = -1 / (x * x)
    even, odd = series(z, coefficients[::2]), series(z, coefficients[1::2]) / x
    cos, sin = (x - shift).cos(), (x - shift).sin()
    return even * cos - odd * sin, even * sin + odd * cos


FAR = 13.0
"""The asymptotic series of Bessel functions are accurate to 1e-10 from here on."""
TERMS = 40


def _bessel_j(order: int, x: Tensor) -> Tensor:
    """J of order 0 or 1, to 1e-10."""
    near = torch.clamp(x.abs(), max=FAR)
    q = -near * near / 4
    terms = [1 / (factorial(k) * factorial(k + order)) for k in range(TERMS)]
    inner = series(q, terms) * (near / 2) ** order
    far = torch.clamp(x.abs(), min=FAR)
    outer = _waves(far, (2 * order + 1) * pi / 4, _hankel(order))[0] * (2 / (pi * far)).sqrt()
    found = torch.where(x.abs() <= FAR, inner, outer)
    return torch.where(x < 0, -found, found) if order % 2 else found


def _bessel_y(order: int, x: Tensor) -> Tensor:
    """Y of order 0 or 1, to 1e-10."""
    near, far = torch.clamp(x, max=FAR), torch.clamp(x, min=FAR)
    q = -near * near / 4
    harmonic = [sum(1 / j for j in range(1, k + 1)) for k in range(TERMS + 1)]
    terms = [
        (harmonic[k] + harmonic[k + order] - 2 * GAMMA) / (factorial(k) * factorial(k + order))
        for k in range(TERMS)
    ]
    inner = 2 * (near / 2).log() * _bessel_j(order, near) - series(q, terms) * (near / 2) ** order
    inner = inner / pi - (2 / (pi * near) if order else 0)
    outer = _waves(far, (2 * order + 1) * pi / 4, _hankel(order))[1] * (2 / (pi * far)).sqrt()
    found = torch.where(x <= FAR, inner, outer)
    return torch.where(x < 0, nan, torch.where(x == 0, -inf, found))


def _bessel_k(order: int, scaled: bool, x: Tensor) -> Tensor:
    """K of order 0 or 1, optionally times exp(x), to 1e-8: trapezoidal rule with 128 steps."""
    size = torch.clamp(x, min=1e-300)[..., None]
    end = torch.acosh(1 + 40 / size)
    t = end * torch.arange(129, device=x.device).double() / 128
    inside = (-size * (t.cosh() - 1)).exp() * (order * t).cosh()
    found = (inside.sum(-1) - (inside[..., 0] + inside[..., -1]) / 2) * end[..., 0] / 128
    found = found if scaled else found * (-x).exp()
    return torch.where(x < 0, nan, torch.where(x == 0, inf, found))


AIRY_FAR = 6.0
"""The power series of the Airy function is accurate to 1e-8 up to here, the asymptotic beyond."""


def airy_ai(x: Tensor) -> Tensor:
    """The Airy function, to 1e-7."""
    near = torch.clamp(x, -AIRY_FAR, AIRY_FAR)
    cube = near**3
    even = [1 / prod(3 * j * (3 * j - 1) for j in range(1, k + 1)) for k in range(TERMS)]
    odd = [1 / prod(3 * j * (3 * j + 1) for j in range(1, k + 1)) for k in range(TERMS)]
    at_zero = exp(-lgamma(2 / 3)) / 3 ** (2 / 3), exp(-lgamma(1 / 3)) / 3 ** (1 / 3)
    inner = at_zero[0] * series(cube, even) - at_zero[1] * near * series(cube, odd)
    far = torch.clamp(x.abs(), min=AIRY_FAR)
    zeta = far**1.5 * (2 / 3)
    terms = [prod((6 * j - 5) * (1 - 6 * j) / (72 * j) for j in range(1, k + 1)) for k in range(17)]
    right = series(1 / zeta, terms) * (-zeta).exp() / 2
    left = _waves(zeta, pi / 4, terms)[0]
    outer = torch.where(x > 0, right, left) / (sqrt(pi) * far**0.25)
    return torch.where(x.abs() <= AIRY_FAR, inner, outer)


def erfcx(x: Tensor) -> Tensor:
    """erfc(x) * exp(x^2), to 1e-13."""
    near, far = torch.clamp(x, max=8), torch.clamp(x, min=8)
    terms = [prod(range(1, 2 * k, 2)) / (-2) ** k for k in range(20)]
    outer = series(1 / (far * far), terms) / (far * sqrt(pi))
    return torch.where(x <= 8, (near * near).exp() * near.erfc(), outer)


def _zeta(s: Tensor | float, q: Tensor) -> Tensor:
    """The sum of (q + k)^-s for q > 0, to 1e-13: 12 terms, and the Euler-Maclaurin formula.

    See DLMF 25.11.28, which is exact enough for all s from 12 on.
    """
    total: Tensor | float = 0.0
    for k in range(12):
        total = total + (q + k) ** -s
    z = q + 12
    total = total + z**-s * (z / (s - 1) + 0.5)
    term = z**-s * s / z
    for j, bernoulli in enumerate((1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730), start=1):
        total = total + term * (bernoulli / factorial(2 * j))
        term = term * ((s + (2 * j - 1)) / z) * ((s + 2 * j) / z)
    return total


def zeta(s: Tensor, q: Tensor) -> Tensor:
    """Hurwitz's zeta function, to 1e-13; terms of a negative base are two sums of positive ones."""
    turns = q.floor()
    rest = q - turns
    sign = torch.where(s % 2 == 0, 1.0, -1.0).double()
    negative = sign * (_zeta(s, 1 - rest) - _zeta(s, 1 - torch.clamp(q, max=0)))
    found = _zeta(s, torch.where(q > 0, q, rest)) + torch.where(q > 0, 0.0, negative)
    found = torch.where((q > 0) | (s == s.floor()), found, nan)
    found = torch.where((q <= 0) & (rest == 0), inf, found)
    return torch.where(s > 1, found, torch.where(s == 1, inf, nan))


def polygamma(n: int, x: Tensor) -> Any:
    """The n-th derivative of digamma, to 1e-13, with the reflection formula below 1/2."""
    if n == 0:
        return torch.digamma(x)
    require(0 < n <= 20)
    return _of(_polygamma, n)(x)


def _polygamma(n: int, x: Tensor) -> Tensor:
    """A multiple of zeta."""
    found = (-1) ** (n + 1) * factorial(n) * _zeta(n + 1, torch.where(x < 0.5, 1 - x, x))
    # Derivatives of pi * cot(pi * x) are polynomials in the cotangent.
    cotangent = [0.0, 1.0]
    for _ in range(n):
        slope = [k * c for k, c in enumerate(cotangent)][1:]
        cotangent = [
            -sum(slope[j] for j in (k, k - 2) if 0 <= j < len(slope)) for k in range(len(slope) + 2)
        ]
    turn = 1 / torch.tan(pi * (x - x.round()))
    mirrored = (-1) ** n * found - pi ** (n + 1) * series(turn, cotangent)
    found = torch.where(x < 0.5, mirrored, found)
    pole = (x <= 0) & (x == x.floor())
    return torch.where(pole, inf if n % 2 else -inf, found)


def _chebyshev(shape: str, shifted: bool, x: Tensor, n: Tensor) -> Tensor:
    """A Chebyshev polynomial of kind t, u, v or w by its angle, which is imaginary beyond 1."""
    x = 2 * x - 1 if shifted else x
    n = n.trunc()
    size = x.abs()
    inner, outer = torch.acos(torch.clamp(size, max=1)), torch.acosh(torch.clamp(size, min=1))
    # For -x the sign is (-1)^n, and v and w are exchanged.
    sign = torch.where((x < 0) & (n % 2 != 0), -1.0, 1.0).double()
    if shape == "t":
        found = torch.where(size <= 1, (n * inner).cos(), (n * outer).cosh())
    else:
        part, over = (n + 1, 1.0) if shape == "u" else (n + 0.5, 0.5)
        sines = torch.where(
            size < 1,
            (part * inner).sin() / (over * inner).sin(),
            torch.where(size == 1, part / over, (part * outer).sinh() / (over * outer).sinh()),
        )
        cosines = torch.where(
            size <= 1,
            (part * inner).cos() / (over * inner).cos(),
            (part * outer).cosh() / (over * outer).cosh(),
        )
        swapped = {"u": sines, "v": sines, "w": cosines}[shape]
        found = torch.where(x < 0, swapped, cosines if shape == "v" else sines)
    return torch.where(n < 0, 0.0, sign * found)


def iterated(name: str, x: Tensor, y: Tensor) -> Tensor:
    """Return a function of two tensors, which are broadcast: a kernel of `kernels.element`."""
    from hidet.frontends.torch.kernels.element import elementwise  # which imports scripts

    shape = (x + y).shape
    read = [each.expand(shape).reshape(-1).contiguous() for each in (x, y)]
    if 0 in shape:
        return read[0].reshape(shape)
    (found,) = elementwise(name, len(read[0])).functional(read, [torch.empty_like(read[0])])
    return found.reshape(shape)


def _of_two(name: str, decomposition: Callable[..., Any]) -> dict[Any, Callable[..., Any]]:
    """Return the decompositions of a function of two tensors, or of a tensor and a number."""
    packet = getattr(aten, f"special_{name}")
    overloads = [each for each in packet.overloads() if not each.endswith("out")]
    return {getattr(packet, each): decomposition for each in overloads}


BESSEL: dict[Any, Callable[..., Any]] = {
    aten.igamma.default: _of(iterated, "igamma"),
    aten.igammac.default: _of(iterated, "igammac"),
    aten.polygamma.default: polygamma,
    aten.special_airy_ai.default: _of(airy_ai),
    aten.special_bessel_j0.default: _of(_bessel_j, 0),
    aten.special_bessel_j1.default: _of(_bessel_j, 1),
    aten.special_bessel_y0.default: _of(_bessel_y, 0),
    aten.special_bessel_y1.default: _of(_bessel_y, 1),
    aten.special_erfcx.default: _of(erfcx),
    aten.special_modified_bessel_k0.default: _of(_bessel_k, 0, False),
    aten.special_modified_bessel_k1.default: _of(_bessel_k, 1, False),
    aten.special_scaled_modified_bessel_k0.default: _of(_bessel_k, 0, True),
    aten.special_scaled_modified_bessel_k1.default: _of(_bessel_k, 1, True),
    **_of_two("hermite_polynomial_h", _of(iterated, "hermite_h")),
    **_of_two("hermite_polynomial_he", _of(iterated, "hermite_he")),
    **_of_two("laguerre_polynomial_l", _of(iterated, "laguerre")),
    **_of_two("legendre_polynomial_p", _of(iterated, "legendre")),
    **_of_two("zeta", _of(zeta)),
    **{
        target: decomposition
        for prefix in ("", "shifted_")
        for kind in "tuvw"
        for target, decomposition in _of_two(
            f"{prefix}chebyshev_polynomial_{kind}", _of(_chebyshev, kind, bool(prefix))
        ).items()
    },
}
"""The decompositions of these functions."""
