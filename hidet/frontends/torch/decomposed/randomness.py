"""Random operators: a seed is drawn from torch's generator, the numbers are computed from it.

So `torch.manual_seed` makes runs reproducible; the numbers are not those of eager torch. Operators
with an explicit generator are not decomposed.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import torch
from torch import Tensor

from hidet.frontends.torch.decomposed.refusal import require
from hidet.frontends.torch.philox import DRAW, RANDOM

aten = torch.ops.aten

Device: TypeAlias = torch.device | str | None
Function: TypeAlias = Callable[..., Tensor]

_DIGITS = {torch.float16: 11, torch.bfloat16: 8}
"""The number of binary digits of uniform numbers of short types, as in eager torch."""
_MULTIPLIED = 1 << 31
"""The largest range of integers that are drawn by a multiplication instead of a division."""
_NATURAL = 1 << 63
"""The number of nonnegative 64-bit integers."""


def _draw(size: Sequence[int], distribution: str, dtype: torch.dtype, device: Device) -> Tensor:
    """Draw a seed, and return random numbers."""
    device = torch.empty(0, device=device).device
    return RANDOM(DRAW(1, device), 0, size, distribution, dtype)


def _wide(dtype: torch.dtype) -> torch.dtype:
    """Return the type in which random numbers of a type are computed; refuse unsupported ones."""
    require(dtype in (*_DIGITS, torch.float32, torch.float64))
    return torch.float32 if dtype in _DIGITS else dtype


def rand(
    size: Sequence[int], *, dtype: torch.dtype | None = None, device: Device = None, **_: object
) -> Tensor:
    """Uniform numbers in [0, 1)."""
    dtype = dtype or torch.get_default_dtype()
    numbers = _draw(size, "uniform", _wide(dtype), device)
    if dtype not in _DIGITS:
        return numbers
    steps = 1 << _DIGITS[dtype]
    return ((numbers * steps).floor() * (1 / steps)).to(dtype)


def randn(
    size: Sequence[int], *, dtype: torch.dtype | None = None, device: Device = None, **_: object
) -> Tensor:
    """Normal numbers."""
    dtype = dtype or torch.get_default_dtype()
    return _draw(size, "normal", _wide(dtype), device).to(dtype)


def randint(
    low: int,
    high: int,
    size: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    device: Device = None,
    **_: object,
) -> Tensor:
    """Integers in [low, high)."""
    count = high - low
    require(count <= _NATURAL)
    if count <= _MULTIPLIED:
        words = _draw(size, "bits", torch.int32, device).to(torch.int64) & 0xFFFFFFFF
        numbers = words * count >> 32
    else:
        numbers = _draw(size, "bits", torch.int64, device) & (_NATURAL - 1)
        numbers = numbers % count if count < _NATURAL else numbers
    return (numbers + low).to(dtype or torch.int64)


def _like(
    function: Function, x: Tensor, *first: Any, dtype: torch.dtype | None = None, **_: object
) -> Tensor:
    """Draw numbers in the shape of a tensor, given the first arguments."""
    return function(*first, x.shape, dtype=dtype or x.dtype, device=x.device)


def _is_below(shape: Sequence[int], p: float | Tensor, device: Device) -> Tensor:
    """Return booleans that are true with a probability."""
    dtype = torch.float64 if isinstance(p, Tensor) and p.dtype is torch.float64 else torch.float32
    return _draw(shape, "uniform", dtype, device) < p


def dropout(x: Tensor, p: float, train: bool | None = True) -> tuple[Tensor, Tensor]:
    """Dropout, and its mask."""
    if train is False or p == 0:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    if p == 1:
        return torch.zeros_like(x), torch.zeros_like(x, dtype=torch.bool)
    mask = _is_below(x.shape, 1 - p, x.device)
    return x * mask * (1 / (1 - p)), mask


def bernoulli(x: Tensor, p: float | Tensor | None = None, *, generator: object = None) -> Tensor:
    """Ones with a probability, p or the element itself, else zeros."""
    require(generator is None)
    return _is_below(x.shape, x if p is None else p, x.device).to(x.dtype)


def _of(
    draw: Function, function: Function, x: Tensor, *given: Any, generator: object = None
) -> Tensor:
    """Draw numbers in the shape and type of a tensor.

    `function` transforms them, given the parameters of the distribution.
    """
    require(generator is None)
    return function(draw(x.shape, dtype=_wide(x.dtype), device=x.device), *given).to(x.dtype)


def uniform(x: Tensor, low: float = 0.0, high: float = 1.0, *, generator: object = None) -> Tensor:
    """Uniform numbers in [low, high), where rounding may reach high unless it is 1."""
    require(generator is None)
    numbers = rand(x.shape, dtype=x.dtype, device=x.device)
    return (numbers.to(_wide(x.dtype)) * (high - low) + low).to(x.dtype)


def _normal(numbers: Tensor, mean: float | Tensor = 0.0, std: float | Tensor = 1.0) -> Tensor:
    return numbers * std + mean


def _exponential(numbers: Tensor, rate: float = 1.0) -> Tensor:
    """Exponential numbers, which are never 0."""
    least = 2.0 ** (-53 if numbers.dtype is torch.float64 else -24)
    return torch.log1p(-numbers.clamp(min=least)) * (-1 / rate)


def _geometric(numbers: Tensor, p: float) -> Tensor:
    return (torch.log1p(-numbers) * (1 / math.log1p(-p))).ceil().clamp(min=1)


def _cauchy(numbers: Tensor, median: float = 0.0, sigma: float = 1.0) -> Tensor:
    return torch.tan((numbers - 0.5) * math.pi) * sigma + median


def _log_normal(numbers: Tensor, mean: float = 1.0, std: float = 2.0) -> Tensor:
    return torch.exp(numbers * std + mean)


def normal(
    mean: float | Tensor, std: float | Tensor = 1.0, *, generator: object = None, **_: object
) -> Tensor:
    """Normal numbers with means and deviations, at least one of them a tensor."""
    like: Any = mean + std if isinstance(mean, Tensor) else std
    return _of(randn, _normal, like, mean, std, generator=generator)


def normal_of_size(
    mean: float, std: float, size: Sequence[int], *, generator: object = None, **keywords: Any
) -> Tensor:
    """Normal numbers with a mean and a deviation."""
    require(generator is None)
    return randn(size, **keywords) * std + mean


def integers(x: Tensor, *bounds: int | None, generator: object = None) -> Tensor:
    """Integers in [low, high), or below high, by default the range of the tensor's type.

    For floating-point types this ends at the first integer whose successor is not representable.
    """
    digits = {**_DIGITS, torch.float32: 24, torch.float64: 53}.get(x.dtype)
    require(generator is None and not x.dtype.is_complex)
    low, high = (0, *bounds)[-2:] if bounds else (0, None)
    if high is None:
        is_truth = x.dtype is torch.bool
        most = 1 if is_truth else 1 << digits if digits else torch.iinfo(x.dtype).max
        high = most + 1
    return randint(low or 0, high, x.shape, dtype=x.dtype, device=x.device)


def rrelu(
    x: Tensor,
    noise: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    generator: object = None,
) -> tuple[Tensor, Tensor]:
    """A leaky ReLU, and its slopes, which training draws."""
    if not training:
        return aten.leaky_relu(x, (lower + upper) / 2), noise.clone()
    slopes = uniform(x, lower, upper, generator=generator)
    slopes = torch.where(x <= 0, slopes, 1)
    return x * slopes, slopes


RANDOMNESS: dict[Any, Callable[..., Any]] = {
    aten.native_dropout.default: dropout,
    aten.bernoulli.default: bernoulli,
    aten.bernoulli.p: bernoulli,
    aten.bernoulli.Tensor: bernoulli,
    aten.rand.default: rand,
    aten.randn.default: randn,
    aten.randint.default: partial(randint, 0),
    aten.randint.low: randint,
    aten.rand_like.default: partial(_like, rand),
    aten.randn_like.default: partial(_like, randn),
    aten.randint_like.default: partial(_like, partial(randint, 0)),
    aten.randint_like.low_dtype: partial(_like, randint),
    aten.rrelu_with_noise_functional.default: rrelu,
    aten.uniform.default: uniform,
    aten.normal_functional.default: partial(_of, randn, _normal),
    aten.normal.Tensor_float: normal,
    aten.normal.float_Tensor: normal,
    aten.normal.Tensor_Tensor: normal,
    aten.normal.float_float: normal_of_size,
    aten.random.default: integers,
    aten.random.to: integers,
    getattr(aten.random, "from"): integers,
    aten.exponential.default: partial(_of, rand, _exponential),
    aten.geometric.default: partial(_of, rand, _geometric),
    aten.cauchy.default: partial(_of, rand, _cauchy),
    aten.log_normal.default: partial(_of, randn, _log_normal),
}
"""The decompositions of operators that draw numbers."""
