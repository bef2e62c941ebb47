"""Reductions along dimensions; None stands for all dimensions."""

from collections.abc import Callable, Sequence
from functools import reduce

import torch

from hidet.frontends.trace.recording import T, named_operator, operator

Dims = int | Sequence[int] | None
"""One dimension, several, or all."""


def _listed(x: T, dims: Dims) -> list[int]:
    if dims is None:
        return list(range(x.dim()))
    return [dim % x.dim() for dim in ([dims] if isinstance(dims, int) else dims)]


@operator
def all(x: T, /, *, axis: Dims = None, keepdims: bool = False) -> T:
    """Return whether all elements along an axis are true."""
    return torch.all(x, _listed(x, axis), keepdims)


@operator
def any(x: T, /, *, axis: Dims = None, keepdims: bool = False) -> T:
    """Return whether any element along an axis is true."""
    return torch.any(x, _listed(x, axis), keepdims)


@operator
def argmax(x: T, dim: int, keep_dim: bool = False) -> T:
    """Return the index of the first largest element along a dimension."""
    return torch.argmax(x, dim, keep_dim)


@operator
def argmin(x: T, dim: int, keep_dim: bool = False) -> T:
    """Return the index of the first smallest element along a dimension."""
    return torch.argmin(x, dim, keep_dim)


@operator
def cumsum(x: T, dim: int, exclusive: bool = False, reverse: bool = False) -> T:
    """Return the cumulative sum, from the end if `reverse`, without the element if `exclusive`."""
    source = torch.flip(x, [dim]) if reverse else x
    sums = torch.cumsum(source, dim)
    result = sums - source if exclusive else sums
    return torch.flip(result, [dim]) if reverse else result


def _along(function: Callable[..., T], name: str, what: str) -> Callable[..., T]:
    def call(x: T, dims: Dims = None, keep_dim: bool = False) -> T:
        return function(x, _listed(x, dims), keep_dim)

    return named_operator(call, name, f"Return the {what} along dimensions.")


max = _along(torch.amax, "max", "maxima")
mean = _along(torch.mean, "mean", "means")
min = _along(torch.amin, "min", "minima")
sum = _along(torch.sum, "sum", "sums")


@operator
def prod(x: T, dims: Dims = None, keep_dim: bool = False) -> T:
    """Return the products along dimensions."""
    order = sorted(_listed(x, dims), reverse=True)
    return reduce(lambda partial, dim: torch.prod(partial, dim, keep_dim), order, x)


@operator
def std(x: T, dims: Dims = None, keep_dim: bool = False) -> T:
    """Return the standard deviations along dimensions, without Bessel's correction."""
    return torch.sqrt(torch.var(x, _listed(x, dims), correction=0, keepdim=keep_dim))


@operator
def var(x: T, dims: Dims = None, keep_dim: bool = False, correction: int = 0) -> T:
    """Return the variances along dimensions; the divisor is the size minus `correction`."""
    return torch.var(x, _listed(x, dims), correction=correction, keepdim=keep_dim)
