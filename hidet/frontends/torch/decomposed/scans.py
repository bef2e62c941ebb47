"""Inclusive scans, by the kernels of `hidet.frontends.torch.kernels.scan`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hidet.frontends.torch.decomposed.refusal import require
from hidet.frontends.torch.decomposed.sorting import SHARED_BYTES
from hidet.frontends.torch.decomposed.traced import is_constant

if TYPE_CHECKING:
    from hidet.driver.script import CompiledFunction

aten = torch.ops.aten

THREADS = {"cpu": 1, "cuda": 1024}
"""The most threads of a block, by device."""
ALONE, MANY, SIDE_BY_SIDE = 64, 1 << 14, 256
"""The longest column that one thread reduces if there are as many, and the threads of a block."""
BLOCK = 64
"""The length of the blocks of a scan of constants, whose prefixes are summed one by one."""
MANY_PARTS, FEWER = 256, 4
"""The number of parts that occupy a GPU; where there are less, parts are a fourth as long."""
COLUMNS = 16
"""The most adjacent columns of a block: half a warp reads the elements of a row together."""

JOINS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "sum": torch.add,
    "product": torch.mul,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "logsumexp": torch.logaddexp,
}
"""The reductions of two prefixes, given those of both."""


def _sums(x: Tensor) -> Tensor:
    """Return the sums of all prefixes of the middle dimension, of integers.

    They are made of operators that are folded if the integers are constant.
    """
    outer, size, inner = x.shape
    if size < 2:
        return x
    length = min(size, BLOCK)
    padded = torch.constant_pad_nd(x, [0, 0, 0, -size % length])
    blocks = padded.reshape(outer, -1, length, inner)
    places = torch.arange(length, device=x.device)
    inside = (places <= places[:, None])[..., None]
    found = torch.where(inside, blocks[:, :, None], 0).sum(-2, dtype=x.dtype)
    totals = blocks.sum(2, dtype=x.dtype)
    return (found + (_sums(totals) - totals)[:, :, None]).reshape(padded.shape)[:, :size]


def _scan(x: Tensor, name: str) -> Tensor:
    """Return the reductions of all prefixes of the middle dimension.

    Those of a part that fits in shared memory are joined with a scan of the parts before.
    """
    from hidet.frontends.torch.kernels.scan import RUN, scan_columns, scan_rows  # imports scripts

    outer, size, inner = x.shape
    if x.numel() == 0 or size < 2:
        return x
    if name == "sum" and not x.is_floating_point() and is_constant(x):
        return _sums(x)
    threads, element = THREADS[x.device.type], str(x.dtype).removeprefix("torch.")
    if threads == 1 or size <= (ALONE if outer * inner >= MANY else RUN):
        kernel = scan_columns(element, outer, size, inner, min(threads, SIDE_BY_SIDE), name)
        return _run(kernel, x)
    columns = min(COLUMNS, 1 << (inner.bit_length() - 1))
    part = SHARED_BYTES // (x.itemsize * columns)
    if size > part:
        part //= FEWER if x.numel() < MANY_PARTS * part * columns else 1
        parts = torch.constant_pad_nd(x, [0, 0, 0, -size % part]).reshape(-1, part, inner)
        found = _scan(parts, name).reshape(outer, -1, part, inner)
        before = _scan(found[:, :, -1], name)[:, :-1, None]
        later = JOINS[name](before, found[:, 1:])
        return torch.cat([found[:, :1], later], 1).reshape(outer, -1, inner)[:, :size]
    runs = min(threads // columns, (1 << (size - 1).bit_length()) // RUN)
    return _run(scan_rows(element, outer, size, inner, columns, runs, name), x)


def _run(kernel: CompiledFunction, x: Tensor) -> Tensor:
    """Return what a kernel computes of a tensor."""
    rows = x.contiguous()
    (found,) = kernel.functional([rows], [torch.empty_like(rows)])
    return found


def _around(x: Tensor, dim: int) -> Tensor:
    """Return a tensor of three dimensions, of which a given one is in the middle."""
    require(not x.is_complex() and x.device.type in THREADS)
    x = x.reshape(1) if x.dim() == 0 else x
    dim %= x.dim()
    return x.reshape(prod(x.shape[:dim]), x.shape[dim], prod(x.shape[dim + 1 :]))


def _least(kind: torch.dtype) -> torch.dtype:
    """Return the narrowest type that scans of a type are computed in."""
    return torch.float32 if kind.is_floating_point else torch.int32


def scan(name: str, x: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Any:
    """A scan.

    As in torch, numbers of 16 bits are reduced in float32, and those of 32 bits on the CPU, where
    one thread reduces a row, in float64.
    """
    kind = dtype or (x.dtype if x.is_floating_point() else torch.int64)
    wide = torch.promote_types(kind, _least(kind))
    if kind is torch.float32 and x.device.type == "cpu":
        wide = torch.float64
    return _scan(_around(x.to(kind).to(wide), dim), name).to(kind).reshape(x.shape)


def extremes(name: str, x: Tensor, dim: int) -> Any:
    """The cumulative maximum or minimum, with the last one's index."""
    rows = _around(x.to(torch.promote_types(x.dtype, _least(x.dtype))), dim)
    found = _scan(rows, name)
    places = torch.arange(rows.shape[1], dtype=torch.int32, device=x.device)[:, None]
    last = torch.where((rows == found) | rows.isnan(), places, 0)
    where = _scan(last, "maximum").long()
    return found.to(x.dtype).reshape(x.shape), where.reshape(x.shape)


SCANS: dict[Any, Callable[..., Any]] = {
    aten.cummax.default: partial(extremes, "maximum"),
    aten.cummin.default: partial(extremes, "minimum"),
    aten.cumprod.default: partial(scan, "product"),
    aten.cumsum.default: partial(scan, "sum"),
    aten.logcumsumexp.default: partial(scan, "logsumexp"),
}
"""The decompositions of scans."""
