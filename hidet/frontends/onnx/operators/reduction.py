"""Reductions, scans, and what sorts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from hidet.frontends.onnx.table import Ints, Number, T, row, rows


def _largest(x: T, axes: Ints, keep: bool) -> T:
    return x.any(dim=axes, keepdim=keep) if x.dtype == torch.bool else x.amax(axes, keep)


def _smallest(x: T, axes: Ints, keep: bool) -> T:
    return x.all(dim=axes, keepdim=keep) if x.dtype == torch.bool else x.amin(axes, keep)


def _product(x: T, axes: Ints, keep: bool) -> T:
    for axis in axes:
        x = x.prod(axis, keepdim=True)
    return x if keep else x.squeeze(tuple(axes))


def _log_sum_exp(x: T, axes: Ints, keep: bool) -> T:
    return torch.logsumexp(x, axes, keep)


def _sum(x: T, axes: Ints, keep: bool) -> T:
    return x.sum(axes, keepdim=keep, dtype=x.dtype)


REDUCTIONS: dict[str, Callable[[T, Ints, bool], T]] = {
    "L1": lambda x, axes, keep: _sum(x.abs(), axes, keep),
    "L2": lambda x, axes, keep: _sum(x * x, axes, keep).sqrt().to(x.dtype),
    "LogSum": lambda x, axes, keep: _sum(x, axes, keep).log(),
    "LogSumExp": _log_sum_exp,
    "Max": _largest,
    "Mean": lambda x, axes, keep: x.mean(axes, keep),
    "Min": _smallest,
    "Prod": _product,
    "Sum": _sum,
    "SumSquare": lambda x, axes, keep: _sum(x * x, axes, keep),
}
"""What each reduction gives along axes, which stay with size 1 or go."""

_NEUTRAL = {"Max": float("-inf"), "Min": float("inf"), "LogSumExp": float("-inf")}
"""What there is of nothing, where torch refuses to say."""


def _enter(name: str, reduction: Callable[[T, Ints, bool], T], since: int) -> None:
    """Enter a reduction as it is before and after its axes became an operand."""

    def reduce(
        x: T, axes: Ints | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
    ) -> T:
        if not axes and noop_with_empty_axes:
            # The function of each element is left, as for axes of size 1.
            return reduction(x.unsqueeze(0), [0], False)
        axes = sorted(a % max(x.dim(), 1) for a in (axes or range(x.dim())))
        if x.dim() == 0:
            return reduction(x.unsqueeze(0), [0], False)
        if name in _NEUTRAL and any(x.shape[axis] == 0 for axis in axes):
            kept = [n for axis, n in enumerate(x.shape) if axis not in axes]
            ones = [1 if axis in axes else n for axis, n in enumerate(x.shape)]
            value: Any = _NEUTRAL[name]
            if not x.is_floating_point():
                value = name == "Min" if x.dtype == torch.bool else _bound(x.dtype, name)
            return torch.full(ones if keepdims else kept, value, dtype=x.dtype, device=x.device)
        return reduction(x, axes, bool(keepdims))

    def reduce_by_attribute(x: T, *, axes: Ints | None = None, keepdims: int = 1) -> T:
        return reduce(x, axes, keepdims=keepdims)

    row(f"Reduce{name}", since)(reduce)
    row(f"Reduce{name}")(reduce_by_attribute)


def _bound(dtype: torch.dtype, name: str) -> int:
    info = torch.iinfo(dtype)
    return info.min if name == "Max" else info.max


for _name, _reduction in REDUCTIONS.items():
    _enter(_name, _reduction, 13 if _name == "Sum" else 18)


def _position(x: T, axis: int, keepdims: int, last: int, largest: bool) -> T:
    """Return where the extreme elements are; the first ones, or the last ones."""
    find = torch.argmax if largest else torch.argmin
    if not last:
        return find(x, axis, bool(keepdims))
    return x.shape[axis] - 1 - find(x.flip(axis), axis, bool(keepdims))


@row("ArgMax")
def argmax(x: T, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> T:
    """Return where along an axis the largest elements are."""
    return _position(x, axis, keepdims, select_last_index, largest=True)


@row("ArgMin")
def argmin(x: T, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> T:
    """Return where along an axis the smallest elements are."""
    return _position(x, axis, keepdims, select_last_index, largest=False)


def _scan(function: Callable[[T, int], T], x: T, axis: int, exclusive: int, reverse: int) -> T:
    """Return a scan, perhaps from the end, perhaps without the element itself."""
    x = x.flip(axis) if reverse else x
    if exclusive:
        neutral = torch.zeros_like if function is torch.cumsum else torch.ones_like
        x = torch.cat([neutral(x.narrow(axis, 0, 1)), x.narrow(axis, 0, x.shape[axis] - 1)], axis)
    found = function(x, axis).to(x.dtype)
    return found.flip(axis) if reverse else found


@row("CumSum")
def cumsum(x: T, axis: Number, *, exclusive: int = 0, reverse: int = 0) -> T:
    """Return the sums of all elements up to each one."""
    return _scan(torch.cumsum, x, int(axis), exclusive, reverse)


@row("CumProd")
def cumprod(x: T, axis: Number, *, exclusive: int = 0, reverse: int = 0) -> T:
    """Return the products of all elements up to each one."""
    return _scan(torch.cumprod, x, int(axis), exclusive, reverse)


@row("Einsum")
def einsum(*xs: T, equation: str) -> T:
    """Return a sum of products, by Einstein's notation."""
    return torch.einsum(equation, *xs)


@row("Gemm")
def gemm(
    a: T,
    b: T,
    c: T | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> T:
    """Return alpha a b + beta c, with matrices transposed or not."""
    product = torch.matmul(a.t() if transA else a, b.t() if transB else b)
    product = product if alpha == 1 else alpha * product
    return product if c is None else product + (c if beta == 1 else beta * c)


@row("Hardmax", since=13)
def hardmax(x: T, *, axis: int = -1) -> T:
    """Return 1 at the first of the largest elements along an axis, 0 elsewhere."""
    first = x.argmax(axis, keepdim=True)
    sizes = [1] * x.dim()
    sizes[axis] = -1
    positions = torch.arange(x.shape[axis], device=x.device).reshape(sizes)
    return (positions == first).to(x.dtype)


def _softmax(function: Callable[..., T], x: T, axis: int) -> T:
    """Return a softmax of what stands behind an axis, as before opset 13."""
    rows = x.reshape(x.shape[:axis].numel(), -1)
    return function(rows, -1).reshape(x.shape)


@row("Softmax", since=13)
def softmax(x: T, *, axis: int = -1) -> T:
    """Return exp(x) over its sum along an axis."""
    return torch.softmax(x, axis)


@row("Softmax")
def softmax_of_rows(x: T, *, axis: int = 1) -> T:
    """Return exp(x) over its sum behind an axis."""
    return _softmax(torch.softmax, x, axis % x.dim())


@row("LogSoftmax", since=13)
def log_softmax(x: T, *, axis: int = -1) -> T:
    """Return the logarithm of softmax."""
    return torch.log_softmax(x, axis)


@row("LogSoftmax")
def log_softmax_of_rows(x: T, *, axis: int = 1) -> T:
    """Return the logarithm of softmax of what stands behind an axis."""
    return _softmax(torch.log_softmax, x, axis % x.dim())


rows({"MatMul": torch.matmul, "Det": torch.det})


@row("TopK")
def topk(x: T, k: Number, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> list[T]:
    """Return the largest or smallest elements along an axis, and where they are."""
    if not largest:  # among equal ones, the first
        values, places = torch.sort(x, dim=axis, stable=True)
        return [values.narrow(axis, 0, int(k)), places.narrow(axis, 0, int(k))]
    values, places = torch.sort(x, dim=axis, descending=True, stable=True)
    return [values.narrow(axis, 0, int(k)), places.narrow(axis, 0, int(k))]


@row("MatMulInteger")
def matmul_integer(a: T, b: T, a_zero: T | None = None, b_zero: T | None = None) -> T:
    """Return the product of integers less their zero points, as integers of 32 bits."""
    left = a.to(torch.int32) if a_zero is None else a.to(torch.int32) - _column(a_zero)
    right = b.to(torch.int32) if b_zero is None else b.to(torch.int32) - b_zero.to(torch.int32)
    return torch.matmul(left, right)


def _column(zero: T) -> T:
    return zero.to(torch.int32)[:, None] if zero.dim() == 1 else zero.to(torch.int32)
