"""Sorting by counting, and scans in blocks.

The rank of an element is the number of those that are smaller: one kernel without intermediates,
but quadratic work. Rows longer than `LONGEST` are sorted in eager torch, unless there are few.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten

LONGEST = 1024
"""The maximal length of rows that are sorted."""
LARGEST = {"cpu": 1 << 26, "cuda": 1 << 31}
"""The maximal number of comparisons for longer rows, by device."""
BLOCK = 16
"""The length of the blocks of a scan: short enough for one thread to reduce each prefix."""


def rows_of(x: Tensor, dim: int) -> Tensor | None:
    """Move a dimension of a tensor to the end; return None if comparing all pairs is too much."""
    rows = x.reshape(1) if x.dim() == 0 else x.movedim(dim, -1)
    length, largest = rows.shape[-1], LARGEST.get(x.device.type, 0)
    if (length > LONGEST and rows.numel() * length > largest) or x.is_complex():
        return None
    return rows.to(torch.int8) if rows.dtype is torch.bool else rows


def back(rows: Tensor, dim: int, like: Tensor) -> Tensor:
    """Undo `rows_of`."""
    return rows.reshape(()) if like.dim() == 0 else rows.movedim(-1, dim)


def _keys(rows: Tensor, descending: bool) -> Tensor:
    """Return integers in the order of the elements; NaN is the largest number."""
    keys = rows
    if rows.is_floating_point():
        kind = {2: torch.int16, 4: torch.int32, 8: torch.int64}[rows.element_size()]
        largest = torch.iinfo(kind).max
        bits = torch.where(rows == 0, 0, rows).view(kind)  # of 0 for -0
        bits = torch.where(bits < 0, bits ^ largest, bits)
        keys = torch.where(rows.isnan(), largest, bits)
    return ~keys if descending else keys


def _ranks(keys: Tensor) -> Tensor:
    """Return the number of elements before each one in a stable sort of rows.

    A key and its position are one integer, so that there is one comparison for each pair. Wide keys
    are first replaced by the number of smaller ones.
    """
    size = keys.shape[-1]
    places, bits = torch.arange(size, device=keys.device), (size - 1).bit_length()
    if keys.dtype is torch.int64:
        keys = _smaller(keys)
    kind = torch.int32 if 8 * keys.itemsize + bits <= 32 else torch.int64
    return _smaller(keys.to(kind) << bits | places.to(kind))


def _smaller(keys: Tensor) -> Tensor:
    """Return how many elements of its row are smaller than each one.

    Long rows are read in parts, which many elements are compared with while they are in a cache.
    """
    size = keys.shape[-1]
    if size <= LONGEST:
        return (keys[..., None, :] < keys[..., :, None]).sum(-1, dtype=torch.int32)
    parts = torch.constant_pad_nd(keys, [0, -size % LONGEST], torch.iinfo(keys.dtype).max)
    parts = parts.reshape(*keys.shape[:-1], -(-size // LONGEST), 1, LONGEST)
    return (parts < keys[..., None, :, None]).sum(-1, dtype=torch.int32).sum(-2, dtype=torch.int32)


def _sorted(
    x: Tensor, dim: int, descending: bool, count: int | None = None
) -> tuple[Tensor, Tensor] | None:
    """Return the first elements of sorted rows, and their indices."""
    rows = rows_of(x, dim)
    if rows is None:
        return None
    ranks = _ranks(_keys(rows, descending)).long()
    places = torch.arange(rows.shape[-1], device=x.device).expand(rows.shape)
    order = torch.zeros_like(ranks).scatter(-1, ranks, places)[..., :count]
    return rows.gather(-1, order).to(x.dtype), order


def sort(x: Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None) -> Any:
    """The sorted elements, and their indices; it is always stable."""
    found = _sorted(x, dim, descending)
    return NotImplemented if found is None else tuple(back(each, dim, x) for each in found)


def topk(x: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The largest or smallest elements, sorted, and their indices."""
    found = _sorted(x, dim, largest, k)
    return NotImplemented if found is None else tuple(back(each, dim, x) for each in found)


def _chosen(x: Tensor, dim: int, keepdim: bool, place: Callable[[Tensor], Tensor]) -> Any:
    """Return the element of each row with a rank, and its index.

    `place` returns the ranks [..., 1], given the sorted rows.
    """
    found = _sorted(x, dim, False)
    if found is None or x.numel() == 0:
        return NotImplemented
    at = place(found[0])
    results = (back(each.gather(-1, at), dim, x) for each in found)
    return tuple(each if keepdim or x.dim() == 0 else each.squeeze(dim) for each in results)


def kthvalue(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest element, and its index."""
    return _chosen(x, dim, keepdim, lambda rows: torch.full_like(rows[..., :1], k - 1).long())


def median(x: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The lower median, or NaN if there is any, and its index."""

    def place(rows: Tensor) -> Tensor:
        last = rows.shape[-1] - 1
        middle = torch.full_like(rows[..., :1], last // 2).long()
        first_nan = last + 1 - rows.isnan().sum(-1, True)
        return torch.where(first_nan <= last, first_nan, middle)

    return _chosen(x, dim, keepdim, place)


def nanmedian(x: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The lower median ignoring NaN, and its index."""

    def place(rows: Tensor) -> Tensor:
        return (((~rows.isnan()).sum(-1, True) - 1).clamp(min=0)) // 2

    return _chosen(x, dim, keepdim, place)


def _of_all(function: Callable[..., Any]) -> Callable[[Tensor], Any]:
    """Make a reduction of all elements, without indices, of one along a dimension."""

    def of_all(x: Tensor) -> Any:
        found = function(x.reshape(-1), 0)
        return found if found is NotImplemented else found[0]

    return of_all


def searchsorted(
    sequence: Tensor,
    x: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Any:
    """The number of elements of sorted rows that are smaller, or not larger, than each element.

    A binary search with the steps of eager torch, so that NaN among the rows has the same effect.
    """
    size = sequence.shape[-1]
    if sorter is not None:
        sequence = sequence.gather(-1, sorter)
    low = torch.zeros(x.shape, dtype=torch.int64, device=x.device)
    high = torch.full_like(low, size)
    for _ in range(size.bit_length()):
        middle = (low + high) // 2
        place = middle.clamp(max=size - 1)
        if sequence.dim() > 1:
            found = sequence.gather(-1, place)
        else:
            found = sequence.index_select(0, place.reshape(-1)).reshape(x.shape)
        later = ~(found > x) if right or side == "right" else ~(found >= x)
        later = later & (low < high)
        low, high = torch.where(later, middle + 1, low), torch.where(later, high, middle)
    return low.to(torch.int32 if out_int32 else torch.int64)


def bucketize(
    x: Tensor, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Any:
    """The index of the bucket of each element."""
    return searchsorted(boundaries, x, out_int32=out_int32, right=right)


# ----------------------------------------------------------------------------- scans

Reduce = Callable[[Callable[[], Tensor]], Tensor]
"""A reduction of dimension -2 of the tensor that a function returns.

The function is called for each use: a mask is then computed twice, but never stored.
"""
Join = Callable[[Tensor, Tensor], Tensor]
"""The reduction of two prefixes, given those of both."""


def _scan(x: Tensor, neutral: float, reduce: Reduce, join: Join) -> Tensor:
    """Return the reductions of all prefixes of the middle dimension.

    Those of a block, from all pairs of its elements, are joined with a scan of the blocks before.
    """
    outer, size, inner = x.shape
    if size < 2:
        return x
    length = min(size, BLOCK)
    padded = torch.constant_pad_nd(x, [0, 0, 0, -size % length], neutral)
    blocks = padded.reshape(outer, padded.shape[1] // length, length, inner)
    # A lower triangle made of views, which no kernel stores.
    ones = torch.ones(length, dtype=torch.bool, device=x.device)
    inside = torch.constant_pad_nd(ones, [length - 1, 0]).unfold(0, length, 1).flip(1)[..., None]
    found = reduce(lambda: torch.where(inside, blocks[:, :, None], neutral)).to(x.dtype)
    if size > length:
        totals = reduce(lambda: blocks[:, :-1]).to(x.dtype)
        before = _scan(totals, neutral, reduce, join)
        found = join(found, torch.constant_pad_nd(before, [0, 0, 1, 0], neutral)[:, :, None])
    return found.reshape(padded.shape)[:, :size]


def _around(x: Tensor, dim: int) -> Tensor:
    """Return a tensor of three dimensions, of which a given one is in the middle."""
    x = x.reshape(1) if x.dim() == 0 else x
    dim %= x.dim()
    return x.reshape(prod(x.shape[:dim]), x.shape[dim], prod(x.shape[dim + 1 :]))


def _scanned(neutral: float, reduce: Reduce, join: Join) -> Callable[..., Any]:
    """Return the decomposition of a scan, of 16-bit numbers in float32."""

    def scanned(x: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Any:
        if x.is_complex():
            return NotImplemented
        kind = dtype or (x.dtype if x.is_floating_point() else torch.int64)
        wide = torch.promote_types(kind, torch.float32) if kind.is_floating_point else kind
        rows = _around(x.to(kind).to(wide), dim)
        return _scan(rows, neutral, reduce, join).to(kind).reshape(x.shape)

    return scanned


def _logsumexp(parts: Callable[[], Tensor]) -> Tensor:
    largest = parts().amax(-2, True)
    finite = torch.where(largest.isinf(), 0, largest)
    return (parts() - finite).exp().sum(-2).log() + finite.squeeze(-2)


def _extremes(largest: bool) -> Callable[[Tensor, int], Any]:
    """Return the decomposition of a cumulative maximum or minimum, with the last one's index."""

    def extremes(x: Tensor, dim: int) -> Any:
        if x.is_complex():
            return NotImplemented
        rows = _around(x.to(torch.int8) if x.dtype is torch.bool else x, dim)
        low, high = -torch.inf, torch.inf
        if not rows.is_floating_point():
            low, high = torch.iinfo(rows.dtype).min, torch.iinfo(rows.dtype).max
        if largest:
            found = _scan(rows, low, _largest, torch.maximum)
        else:
            found = _scan(rows, high, lambda parts: parts().amin(-2), torch.minimum)
        places = torch.arange(rows.shape[1], dtype=torch.int32, device=x.device)[:, None]
        last = torch.where((rows == found) | rows.isnan(), places, 0)
        where = _scan(last, 0, _largest, torch.maximum).long()
        return found.to(x.dtype).reshape(x.shape), where.reshape(x.shape)

    return extremes


def _largest(parts: Callable[[], Tensor]) -> Tensor:
    return parts().amax(-2)


SORTING: dict[Any, Callable[..., Any]] = {
    aten.bucketize.Tensor: bucketize,
    aten.cummax.default: _extremes(True),
    aten.cummin.default: _extremes(False),
    aten.cumprod.default: _scanned(1, lambda parts: parts().prod(-2), torch.mul),
    aten.cumsum.default: _scanned(0, lambda parts: parts().sum(-2), torch.add),
    aten.kthvalue.default: kthvalue,
    aten.logcumsumexp.default: _scanned(-torch.inf, _logsumexp, torch.logaddexp),
    aten.median.default: _of_all(median),
    aten.median.dim: median,
    aten.nanmedian.default: _of_all(nanmedian),
    aten.nanmedian.dim: nanmedian,
    aten.searchsorted.Tensor: searchsorted,
    aten.sort.default: sort,
    aten.sort.stable: sort,
    aten.topk.default: topk,
}
"""The decompositions of sorting and scans."""
