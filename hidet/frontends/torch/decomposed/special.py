"""Elementwise functions as formulas of others, and miscellaneous operators.

Docstrings of approximations state the relative error in float64, which is below the epsilon of
float32. Tests check the errors.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import pi, sqrt
from typing import Any

import torch
from torch import Tensor

from hidet.frontends.torch.decomposed.bessel import iterated
from hidet.frontends.torch.decomposed.refusal import require

aten = torch.ops.aten


def _real(function: Callable[..., Tensor], *fixed: Any) -> Callable[[Tensor], Any]:
    """Compute a function, given its first arguments, in floating point, halves in float32."""

    def of_real(x: Tensor) -> Any:
        require(not x.is_complex())
        x = x if x.is_floating_point() else x.to(torch.get_default_dtype())
        wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        return function(*fixed, wide).to(x.dtype)

    return of_real


def angle(x: Tensor) -> Tensor:
    """The angle of a number in the complex plane: pi for negative ones."""
    return torch.where(x.isnan(), x, torch.where(x < 0, torch.full_like(x, pi), 0))


def digamma(x: Tensor) -> Tensor:
    """The derivative of lgamma: by recurrence to x >= 10, then an asymptotic series, to 1e-14."""
    mirrored = 1 - x
    y = torch.where(x < 0.5, mirrored, x)
    total = torch.zeros_like(x)
    for _ in range(10):
        small = y < 10
        total = torch.where(small, total - 1 / y, total)
        y = torch.where(small, y + 1, y)
    z = 1 / (y * y)
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z * (1 / 132)))))
    total = total + y.log() - 0.5 / y - series
    # Range reduction before the multiplication by pi, which float32 rounds.
    turned = total - pi / torch.tan(pi * (x - x.round()))
    result = torch.where(x < 0.5, turned, total)
    pole = (x < 0) & (x == x.floor())
    result = torch.where(pole, torch.nan, result)
    return torch.where(x == 0, torch.copysign(torch.full_like(x, torch.inf), -x), result)


def erfinv(x: Tensor) -> Tensor:
    """The inverse of erf: an approximation to 2e-3, and Newton iterations, to 1e-12 up to 0.999."""
    a = 0.147
    tail = torch.log1p(-x * x)
    half = 2 / (pi * a) + tail / 2
    guess = torch.copysign((((half * half - tail / a).sqrt()) - half).sqrt(), x)
    for _ in range(3):
        # erfc avoids cancellation in the tails.
        error = torch.where(
            x.abs() < 0.5,
            guess.erf() - x,
            x.sign() * ((1 - x.abs()) - guess.abs().erfc()),
        )
        guess = guess - error * (sqrt(pi) / 2) * (guess * guess).exp()
    guess = torch.where(x.abs() == 1, torch.copysign(torch.full_like(x, torch.inf), x), guess)
    return torch.where(x.abs() > 1, torch.nan, guess)


def ndtri(x: Tensor) -> Tensor:
    """The inverse of the normal distribution."""
    return sqrt(2) * erfinv(2 * x - 1)


def _modified_bessel(order: int, scaled: bool, x: Tensor) -> Tensor:
    """I of an order, optionally times exp(-|x|): to 1e-10, beyond 30 by a series in 1/x."""
    size = x.abs()
    near = torch.clamp(size, max=30)[..., None]
    steps = torch.arange(64, device=x.device).to(x.dtype) * (2 * pi / 64)
    inner = ((near * (steps.cos() - 1)).exp() * (order * steps).cos()).mean(-1)
    far, term, outer = torch.clamp(size, min=30), torch.ones_like(x), torch.ones_like(x)
    for k in range(1, 9):
        term = -term * (4 * order * order - (2 * k - 1) ** 2) / (8 * k * far)
        outer = outer + term
    outer = outer / (2 * pi * far).sqrt()
    found = torch.where(size <= 30, inner, outer)
    found = found if scaled else found * size.exp()
    return torch.where(x < 0, -found, found) if order % 2 else found


def extremum(comparison: Callable[..., Tensor], x: Tensor, other: Tensor) -> Tensor:
    """The maximum or minimum, ignoring NaN."""
    return torch.where(other.isnan() | comparison(x, other), x, other)


def round_decimals(x: Tensor, *, decimals: int) -> Tensor:
    """Rounding to a number of decimal digits, which may be negative."""
    factor = 10.0 ** abs(decimals)
    require(x.is_floating_point())
    return (x * factor).round() / factor if decimals >= 0 else (x / factor).round() * factor


def frexp(x: Tensor) -> Any:
    """Mantissas in [1/2, 1), and exponents."""
    require(x.is_floating_point())
    wide = x.double()
    ordinary = x.isfinite() & (x != 0)
    size = torch.where(ordinary, wide.abs(), 0.5)
    power = size.log2().floor() + 1
    mantissa = _scaled(size, -power)
    # The logarithm may be rounded up to the next integer.
    power = torch.where(mantissa < 0.5, power - 1, torch.where(mantissa >= 1, power + 1, power))
    mantissa = torch.where(ordinary, torch.copysign(_scaled(size, -power), wide), wide)
    return mantissa.to(x.dtype), torch.where(ordinary, power, 0).int()


def _scaled(x: Tensor, power: Tensor) -> Tensor:
    """Return x times a power of two, in two steps, since the power may overflow."""
    half = (power / 2).floor()
    return x * half.exp2() * (power - half).exp2()


def upsample_smoothly(
    x: Tensor,
    output_size: Sequence[int],
    align_corners: bool,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Tensor:
    """Antialiased resizing of images by triangle filters: two matmuls."""
    for dim, size, scale in ((-1, output_size[1], scales_w), (-2, output_size[0], scales_h)):
        weights = _triangles(x, x.shape[dim], size, align_corners, scale)
        x = (x.transpose(dim, -1) @ weights).transpose(dim, -1)
    return x


def _triangles(x: Tensor, old: int, new: int, align_corners: bool, scale: float | None) -> Tensor:
    """Return the weights [old, new] of old pixels in new ones."""
    if align_corners:
        step = (old - 1) / (new - 1) if new > 1 else 0.0
    else:
        step = 1 / scale if scale else old / new
    width = max(step, 1.0)
    center = step * (torch.arange(new, device=x.device).to(x.dtype) + 0.5)
    pixel = torch.arange(old, device=x.device).to(x.dtype)[:, None]
    first = (center - width + 0.5).trunc().clamp(min=0)
    last = (center + width + 0.5).trunc().clamp(max=old)
    near = (1 - ((pixel - center + 0.5) / width).abs()).clamp(min=0)
    near = torch.where((pixel >= first) & (pixel < last), near, 0)
    return near / near.sum(0)


def grid_sampler_3d(
    x: Tensor, grid: Tensor, interpolation: int, padding: int, align_corners: bool
) -> Any:
    """Sampling of volumes at a grid: nearest, or trilinear."""
    require(interpolation <= 1 and 0 not in x.shape)
    sizes, flat = x.shape[2:], x.flatten(2)
    corners: list[tuple[Tensor, Any, Tensor]]
    corners = [(torch.zeros_like(grid[..., 0]).long(), 1.0, grid[..., 0] == grid[..., 0])]
    for axis, size in enumerate(sizes):
        at = _place(grid[..., 2 - axis], size, padding, align_corners)
        low = at.round() if interpolation else at.floor()
        parts = [(low, 1.0)] if interpolation else [(low, low + 1 - at), (low + 1, at - low)]
        corners = [
            (
                number * size + each.clamp(0, size - 1).nan_to_num().long(),
                share * weight,
                inside & (each >= 0) & (each < size),
            )
            for number, weight, inside in corners
            for each, share in parts
        ]
    total: Tensor | float = 0.0
    for number, weight, inside in corners:
        index = number.flatten(1)[:, None].expand(-1, x.shape[1], -1)
        found = flat.gather(2, index).reshape(*x.shape[:2], *number.shape[1:])
        factor = torch.where(inside, weight, 0.0).to(x.dtype)
        total = total + found * factor[:, None]
    return total


def _place(at: Tensor, size: int, padding: int, align_corners: bool) -> Tensor:
    """Return the pixel coordinate of a grid coordinate from -1 to 1."""
    place = (at + 1) / 2 * (size - 1) if align_corners else ((at + 1) * size - 1) / 2
    if padding == 2:  # reflection at the centers of the outermost pixels, or at their edges
        low, span = (0.0, size - 1) if align_corners else (-0.5, size)
        if span == 0:
            return torch.zeros_like(at)
        place = (place - low).abs()
        turns, rest = (place / span).floor(), place % span
        place = torch.where(turns % 2 == 0, rest + low, span - rest + low)
    return place.clamp(0, size - 1) if padding else place


def signbit(x: Tensor) -> Tensor:
    """Whether a number is negative; -0 is."""
    return torch.copysign(torch.ones_like(x), x) < 0 if x.is_floating_point() else x < 0


def spherical_bessel_j0(x: Tensor) -> Tensor:
    """sin(x) / x."""
    return torch.where(x == 0, 1.0, x.sin() / x).to(x.dtype)


def addbmm(x: Tensor, lhs: Tensor, rhs: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """A sum of matmuls [b, m, k] and [b, k, n]: one matmul that contracts b and k."""
    total = alpha * torch.mm(lhs.transpose(0, 1).flatten(1), rhs.flatten(0, 1))
    return total if beta == 0 else beta * x + total


def cdist(lhs: Tensor, rhs: Tensor, p: float, compute_mode: int | None) -> Tensor:
    """The pairwise distances between the rows of two matrices."""
    differences = lhs[..., :, None, :] - rhs[..., None, :, :]
    return aten.linalg_vector_norm(differences, p, [-1])


def pdist(x: Tensor, p: float = 2) -> Tensor:
    """The pairwise distances between the rows of a matrix."""
    count = x.shape[0]
    if count < 2:
        return x.new_zeros(0)
    first, second = torch.triu_indices(count, count, 1, device=x.device).unbind()
    lower, upper = x.index_select(0, first), x.index_select(0, second)
    return aten.linalg_vector_norm(lower - upper, p, [-1])


def trilinear(
    a: Tensor,
    b: Tensor,
    c: Tensor,
    expand1: list[int],
    expand2: list[int],
    expand3: list[int],
    sumdim: list[int],
    unroll_dim: int = 1,
) -> Tensor:
    """The sums of products of three tensors, each with dimensions inserted."""
    product: Any = 1
    for x, dims in ((a, expand1), (b, expand2), (c, expand3)):
        for dim in sorted(dims):
            x = x.unsqueeze(dim)
        product = product * x
    return product.sum(sumdim) if sumdim else product


def gcd(x: Tensor, y: Tensor) -> Tensor:
    """The greatest common divisor."""
    kind = torch.result_type(x, y)
    return iterated("gcd", *(each.to(kind).abs().long() for each in (x, y))).to(kind)


def lcm(x: Tensor, y: Tensor) -> Tensor:
    """The least common multiple, 0 for a 0."""
    divisor, kind = gcd(x, y), torch.result_type(x, y)
    wide = torch.promote_types(kind, torch.int32)  # as C++ does
    quotient = torch.div(x.to(wide), divisor + (divisor == 0), rounding_mode="trunc")
    return (quotient * y).abs().to(kind)


SPECIAL: dict[Any, Callable[..., Any]] = {
    aten._cdist_forward.default: cdist,
    aten._pdist_forward.default: pdist,
    aten._trilinear.default: trilinear,
    aten._upsample_bilinear2d_aa.default: upsample_smoothly,
    aten.addbmm.default: addbmm,
    aten.angle.default: _real(angle),
    aten.digamma.default: _real(digamma),
    aten.erfinv.default: _real(erfinv),
    aten.fmax.default: partial(extremum, torch.ge),
    aten.fmin.default: partial(extremum, torch.le),
    aten.frexp.Tensor: frexp,
    aten.gcd.default: gcd,
    aten.grid_sampler_3d.default: grid_sampler_3d,
    aten.i0.default: _real(_modified_bessel, 0, False),
    aten.lcm.default: lcm,
    aten.round.decimals: round_decimals,
    aten.signbit.default: signbit,
    aten.special_i0e.default: _real(_modified_bessel, 0, True),
    aten.special_i1.default: _real(_modified_bessel, 1, False),
    aten.special_i1e.default: _real(_modified_bessel, 1, True),
    aten.special_modified_bessel_i0.default: _real(_modified_bessel, 0, False),
    aten.special_modified_bessel_i1.default: _real(_modified_bessel, 1, False),
    aten.special_ndtri.default: _real(ndtri),
    aten.special_spherical_bessel_j0.default: _real(spherical_bessel_j0),
}
"""The decompositions of functions of elements."""
