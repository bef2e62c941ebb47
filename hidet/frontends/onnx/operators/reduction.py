"""Reductions, scans, and sorting."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from hidet.frontends.onnx.table import Ints, Number, T, row, rows


def _product(x: T, axes: Ints, keep: bool) -> T:
    for axis in axes:
        x = x.prod(axis, keepdim=True)
    return x if keep else x.squeeze(tuple(axes))


def _sum(x: T, axes: Ints, keep: bool) -> T:
    return x.sum(axes, keepdim=keep, dtype=x.dtype)


REDUCTIONS: dict[str, Callable[[T, Ints, bool], T]] = {
    "L1": lambda x, axes, keep: _sum(x.abs(), axes, keep),
    "L2": lambda x, axes, keep: _sum(x * x, axes, keep).sqrt().to(x.dtype),
    "LogSum": lambda x, axes, keep: _sum(x, axes, keep).log(),
    "LogSumExp": torch.logsumexp,
    "Max": torch.amax,
    "Mean": lambda x, axes, keep: x.mean(axes, keep),
    "Min": torch.amin,
    "Prod": _product,
    "Sum": _sum,
    "SumSquare": lambda x, axes, keep: _sum(x * x, axes, keep),
}
"""The function of each reduction."""

_NEUTRAL = {"Max": float("-inf"), "Min": float("inf"), "LogSumExp": float("-inf")}
"""The neutral elements where torch rejects empty reductions."""


def _reduce(
    name: str, x: T, axes: Ints | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
) -> T:
    """Return a reduction, whose axes were an attribute before they became an operand."""
    if x.dim() == 0 or (not axes and noop_with_empty_axes):
        # Only the elementwise part remains, as for axes of size 1.
        return REDUCTIONS[name](x.unsqueeze(0), [0], False)
    axes = sorted(a % x.dim() for a in (axes or range(x.dim())))
    if name in _NEUTRAL and any(x.shape[axis] == 0 for axis in axes):
        kept = [n for axis, n in enumerate(x.shape) if axis not in axes]
        ones = [1 if axis in axes else n for axis, n in enumerate(x.shape)]
        value: float = _NEUTRAL[name]
        if x.dtype == torch.bool:
            value = name == "Min"
        elif not x.is_floating_point():
            value = torch.iinfo(x.dtype).max if name == "Min" else torch.iinfo(x.dtype).min
        return torch.full(ones if keepdims else kept, value, dtype=x.dtype, device=x.device)
    return REDUCTIONS[name](x, axes, bool(keepdims))


rows({f"Reduce{name}": partial(_reduce, name) for name in REDUCTIONS})


def _enter_position(name: str, find: Callable[[T, int, bool], T]) -> None:
    """Add a function that returns the indices of the first extreme elements along an axis."""

    def position(x: T, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> T:
        if not select_last_index:
            return find(x, axis, bool(keepdims))
        return x.shape[axis] - 1 - find(x.flip(axis), axis, bool(keepdims))

    row(name)(position)


_enter_position("ArgMax", torch.argmax)
_enter_position("ArgMin", torch.argmin)


def _enter_scan(name: str, scan: Callable[[T, int], T], neutral: Callable[[T], T]) -> None:
    """Add a scan, optionally reverse or exclusive."""

    def scanned(x: T, axis: Number, *, exclusive: int = 0, reverse: int = 0) -> T:
        dim = int(axis)
        x = x.flip(dim) if reverse else x
        if exclusive:
            x = torch.cat([neutral(x.narrow(dim, 0, 1)), x.narrow(dim, 0, x.shape[dim] - 1)], dim)
        found = scan(x, dim).to(x.dtype)
        return found.flip(dim) if reverse else found

    row(name)(scanned)


_enter_scan("CumSum", torch.cumsum, torch.zeros_like)
_enter_scan("CumProd", torch.cumprod, torch.ones_like)


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
    """Return alpha a b + beta c, with optional transposes."""
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


def _enter_softmax(name: str, function: Callable[[T, int], T]) -> None:
    """Add a softmax, which was over all dimensions from an axis on before opset 13."""

    def of_rows(x: T, *, axis: int = 1) -> T:
        rows = x.reshape(x.shape[: axis % x.dim()].numel(), -1)
        return function(rows, -1).reshape(x.shape)

    def of_dimension(x: T, *, axis: int = -1) -> T:
        return function(x, axis)

    row(name)(of_rows)
    row(name, since=13)(of_dimension)


_enter_softmax("Softmax", torch.softmax)
_enter_softmax("LogSoftmax", torch.log_softmax)
rows({"MatMul": torch.matmul, "Det": torch.det})


@row("TopK")
def topk(x: T, k: Number, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> list[T]:
    """Return the largest or smallest elements along an axis, and their indices."""
    # The first of equal ones.
    values, places = torch.sort(x, dim=axis, descending=bool(largest), stable=True)
    return [values.narrow(axis, 0, int(k)), places.narrow(axis, 0, int(k))]


@row("MatMulInteger")
def matmul_integer(a: T, b: T, a_zero: T | None = None, b_zero: T | None = None) -> T:
    """Return the matmul of integers minus their zero points, in i32."""
    left = a.to(torch.int32) if a_zero is None else a.to(torch.int32) - _column(a_zero)
    right = b.to(torch.int32) if b_zero is None else b.to(torch.int32) - b_zero.to(torch.int32)
    return torch.matmul(left, right)


def _column(zero: T) -> T:
    return zero.to(torch.int32)[:, None] if zero.dim() == 1 else zero.to(torch.int32)
