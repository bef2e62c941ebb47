"""Scatter reductions, masked writes, and writes through views."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._decomp import decomposition_table  # pyright: ignore[reportUnknownVariableType]

from hidet.frontends.torch.decomposed.refusal import require

aten = torch.ops.aten

LARGEST = 1 << 24
"""The maximal number of pairs of an element and a source element for a maximum or a product."""


def checked(index: Tensor, size: int) -> Tensor:
    """Return checked, nonnegative indices: a look-up in a range checks them."""
    numbers = torch.arange(size, dtype=index.dtype, device=index.device)
    return numbers.index_select(0, index.reshape(-1)).reshape(index.shape)


def scatter_reduce(
    x: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Any:
    """A scatter with a reduction: sum, mean, product, maximum or minimum."""
    if x.dim() == 0:
        rows = x.reshape(1), 0, index.reshape(1), src.reshape(1)
        return scatter_reduce(*rows, reduce, include_self=include_self).reshape(())
    src = src[tuple(slice(size) for size in index.shape)]
    if index.numel() == 0:
        return x.clone()
    counts = torch.zeros_like(x).scatter_add(dim, index, torch.ones_like(src))
    start = x if include_self else torch.where(counts > 0, torch.zeros_like(x), x)
    if reduce == "sum":
        return start.scatter_add(dim, index, src)
    if reduce == "mean":
        total = start.scatter_add(dim, index, src)
        counts = (counts + 1 if include_self else counts).clamp(min=1)
        return total / counts if x.is_floating_point() else total // counts
    return _pairwise(x, dim, index, src, reduce, include_self, counts)


def _pairwise(
    x: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool, counts: Tensor
) -> Any:
    """Return products or extremes, comparing every element with all of the source's."""
    require(x.numel() * index.shape[dim] <= LARGEST)
    if x.dtype is torch.bool:
        found = _pairwise(x.byte(), dim, index, src.byte(), reduce, include_self, counts)
        return found.bool()
    if x.is_floating_point():
        lowest, highest = -torch.inf, torch.inf
    else:
        lowest, highest = torch.iinfo(x.dtype).min, torch.iinfo(x.dtype).max
    neutral = {"prod": 1, "amax": lowest, "amin": highest}[reduce]
    index = checked(index, x.shape[dim])
    pads: list[int] = []
    for axis in reversed(range(x.dim())):
        pads += [0, 0 if axis == dim % x.dim() else x.shape[axis] - index.shape[axis]]
    index = torch.constant_pad_nd(index, pads, -1).movedim(dim, -1)[..., None, :]
    src = torch.constant_pad_nd(src, pads, neutral).movedim(dim, -1)[..., None, :]
    places = torch.arange(x.shape[dim], device=x.device)[:, None]
    parts = torch.where(index == places, src, neutral)
    found = {"prod": torch.prod, "amax": torch.amax, "amin": torch.amin}[reduce](parts, -1)
    found = found.to(x.dtype).movedim(-1, dim)
    if include_self:
        join: Any = {"prod": torch.mul, "amax": torch.maximum, "amin": torch.minimum}[reduce]
        return join(x, found)
    return torch.where(counts > 0, found, x)


def index_reduce(
    x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Any:
    """The same for slices along a dimension."""
    index = index.reshape(-1)
    if x.dim() == 0 or source.dim() == 0:
        source = source.reshape(-1)
        return scatter_reduce(x, 0, index, source, reduce, include_self=include_self)
    shape = [-1 if axis == dim % x.dim() else 1 for axis in range(x.dim())]
    index = index.reshape(shape).expand(source.shape)
    return scatter_reduce(x, dim, index, source, reduce, include_self=include_self)


def _with_checked_index(operator: Any) -> Callable[..., Any]:
    """Return torch's decomposition of slices at indices, with negative ones wrapped."""
    table: Any = decomposition_table  # pyright: ignore[reportUnknownVariableType]
    take_apart: Callable[..., Any] = table[operator]

    def write(x: Tensor, dim: int, index: Tensor, *rest: Any, **options: Any) -> Any:
        size = x.shape[dim] if x.dim() else 1
        return take_apart(x, dim, checked(index, size), *rest, **options)

    return write


def scatter_with(x: Tensor, dim: int, index: Tensor, source: Any, *, reduce: str) -> Any:
    """The older form of scatter reductions, also of a scalar."""
    if not isinstance(source, Tensor):
        source = torch.full(index.shape, source, dtype=x.dtype, device=x.device)
    return scatter_reduce(x, dim, index, source, {"add": "sum", "multiply": "prod"}[reduce])


def _written(x: Tensor, places: Callable[[Tensor], Tensor], source: Tensor) -> Tensor:
    """Write elements through a view."""
    numbers = torch.arange(x.numel(), device=x.device).reshape(x.shape)
    picked = places(numbers).reshape(-1)
    return x.reshape(-1).index_put((picked,), source.reshape(-1).to(x.dtype)).reshape(x.shape)


def as_strided_scatter(
    x: Tensor,
    source: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Any:
    """A write to a strided view."""
    require(x.is_contiguous() and x.storage_offset() == 0)
    return _written(x, lambda n: n.as_strided(size, stride, storage_offset or 0), source)


def diagonal_scatter(
    x: Tensor, source: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """A write to a diagonal."""
    return _written(x, lambda n: n.diagonal(offset, dim1, dim2), source)


def slice_scatter(
    x: Tensor,
    source: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """A write to a slice along a dimension: a concatenation, which writes each part once."""
    size = x.shape[dim]
    first, stop, _ = slice(start, end).indices(size)
    stop = max(first, stop)
    shape = list(x.shape)
    shape[dim] = len(range(first, stop, step))
    source = source.to(x.dtype).expand(shape)
    if step != 1:
        places = torch.arange(first, stop, step, device=x.device)
        return aten.index_put(x, [*[None] * (dim % x.dim()), places], source)
    parts = [x.narrow(dim, 0, first), source, x.narrow(dim, stop, size - stop)]
    return torch.cat([part for part in parts if part.shape[dim]] or [source], dim)


def select_scatter(x: Tensor, source: Tensor, dim: int, index: int) -> Tensor:
    """A write to one index of a dimension."""
    index %= x.shape[dim]
    return slice_scatter(x, source.unsqueeze(dim), dim, index, index + 1)


def masked_scatter(x: Tensor, mask: Tensor, source: Tensor) -> Any:
    """The source's consecutive elements where a mask is true."""
    x = torch.where(mask, x, x)  # broadcasts
    mask = mask.expand(x.shape)
    require(x.numel() > 0 and source.numel() > 0)
    places = (mask.reshape(-1).cumsum(0) - 1).clamp(0, source.numel() - 1)
    found = source.reshape(-1).index_select(0, places).reshape(x.shape)
    return torch.where(mask, found, x)


WRITES: dict[Any, Callable[..., Any]] = {
    aten.as_strided_scatter.default: as_strided_scatter,
    aten.diagonal_scatter.default: diagonal_scatter,
    aten.index_add.default: _with_checked_index(aten.index_add.default),
    aten.index_copy.default: _with_checked_index(aten.index_copy.default),
    aten.index_reduce.default: index_reduce,
    aten.masked_scatter.default: masked_scatter,
    aten.scatter.reduce: scatter_with,
    aten.scatter.value_reduce: scatter_with,
    aten.scatter_reduce.two: scatter_reduce,
    aten.select_scatter.default: select_scatter,
    aten.slice_scatter.default: slice_scatter,
}
"""The decompositions of scatter operators."""
