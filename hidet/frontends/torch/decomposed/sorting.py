"""Sorting and scans by counting: each element is compared with all others of its row.

This takes one kernel, or a few, without intermediates, but quadratic work; rows longer than
`LONGEST` run in eager torch, unless there are few.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten

LONGEST = 1024
"""The maximal length of rows that are sorted, or scanned."""
LONGEST_SUM = 4096
"""The maximal length of rows that are added up."""
LARGEST = 1 << 26
"""The maximal number of comparisons for longer rows."""


def rows_of(x: Tensor, dim: int, longest: int = LONGEST) -> Tensor | None:
    """Move a dimension of a tensor to the end; return None if it is too long."""
    rows = x.reshape(1) if x.dim() == 0 else x.movedim(dim, -1)
    length = rows.shape[-1]
    if length == 0 or (length > longest and rows.numel() * length > LARGEST) or x.is_complex():
        return None
    return rows.to(torch.int8) if rows.dtype is torch.bool else rows


def back(rows: Tensor, dim: int, like: Tensor) -> Tensor:
    """Undo `rows_of`."""
    return rows.reshape(()) if like.dim() == 0 else rows.movedim(-1, dim)


def _order(rows: Tensor, descending: bool) -> Tensor:
    """Return the ranks of the elements of rows; NaN is the largest number.

    The rank of an element is the number of those before it in a stable sort.
    """
    count = rows.shape[-1]
    mine, other = rows[..., :, None], rows[..., None, :]
    less, more = mine < other, other < mine
    if rows.is_floating_point():
        mine_is_nan, other_is_nan = mine.isnan(), other.isnan()
        less, more = less | (other_is_nan & ~mine_is_nan), more | (mine_is_nan & ~other_is_nan)
    places = torch.arange(count, device=rows.device)
    earlier = ~less & ~more & (places < places[:, None])
    ranks = ((less if descending else more) | earlier).sum(-1)
    found = ranks[..., None, :] == places[:, None]
    return torch.where(found, places, 0).sum(-1)


def _sorted(x: Tensor, dim: int, descending: bool) -> tuple[Tensor, Tensor] | None:
    """Return the elements sorted along the last dimension, and their indices."""
    rows = rows_of(x, dim)
    if rows is None:
        return None
    order = _order(rows, descending)
    return rows.gather(-1, order).to(x.dtype), order


def sort(x: Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None) -> Any:
    """The sorted elements, and their indices; it is always stable."""
    found = _sorted(x, dim, descending)
    return NotImplemented if found is None else tuple(back(each, dim, x) for each in found)


def topk(x: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The largest or smallest elements, sorted, and their indices."""
    found = _sorted(x, dim, largest)
    return NotImplemented if found is None else tuple(back(f[..., :k], dim, x) for f in found)


def _chosen(x: Tensor, dim: int, keepdim: bool, place: Callable[[Tensor], Tensor]) -> Any:
    """Return the element of each row with a rank, and its index.

    `place` returns the ranks [..., 1], given the sorted rows.
    """
    found = _sorted(x, dim, False)
    if found is None:
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


def _prefixes(rows: Tensor, neutral: float) -> tuple[Tensor, Tensor]:
    """Return rows [..., n] as [..., n, n], where row i has elements 0 to i, and their mask."""
    places = torch.arange(rows.shape[-1], device=rows.device)
    inside = places <= places[:, None]
    return torch.where(inside, rows[..., None, :], neutral), inside


def cumsum(x: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Any:
    """The cumulative sum."""
    x = _widened(x, dtype)
    if x.numel() == 0:
        return x.clone()
    rows = rows_of(x, dim, LONGEST_SUM)
    if rows is None:
        return NotImplemented
    return back(_prefixes(rows, 0)[0].sum(-1, dtype=x.dtype), dim, x)


def cumprod(x: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Any:
    """The cumulative product."""
    x = _widened(x, dtype)
    rows = rows_of(x, dim)
    if rows is None:
        return NotImplemented
    return back(_prefixes(rows, 1)[0].prod(-1, dtype=x.dtype), dim, x)


def _widened(x: Tensor, dtype: torch.dtype | None) -> Tensor:
    """Return a tensor in a type, or that of its sums and products."""
    is_integer = not x.is_floating_point() and not x.is_complex()
    return x.to(dtype or (torch.int64 if is_integer else x.dtype))


def logcumsumexp(x: Tensor, dim: int) -> Any:
    """The cumulative logsumexp."""
    rows = rows_of(x, dim)
    if rows is None:
        return NotImplemented
    parts, inside = _prefixes(rows, -torch.inf)
    largest = parts.amax(-1, True)
    finite = torch.where(largest.isinf(), 0, largest)
    sums = torch.where(inside, (parts - finite).exp(), 0).sum(-1)
    return back(sums.log() + finite.squeeze(-1), dim, x)


def _extremes(x: Tensor, dim: int, largest: bool) -> Any:
    """Return the cumulative extremes, and the index of the last one."""
    rows = rows_of(x, dim)
    if rows is None:
        return NotImplemented
    limits = torch.finfo(rows.dtype) if rows.is_floating_point() else torch.iinfo(rows.dtype)
    neutral = limits.min if largest else limits.max
    if rows.is_floating_point():
        neutral = -torch.inf if largest else torch.inf
    parts, inside = _prefixes(rows, neutral)
    found = parts.amax(-1) if largest else parts.amin(-1)
    same = parts == found[..., None]
    if rows.is_floating_point():
        same = same | parts.isnan()
    places = torch.arange(rows.shape[-1], device=x.device)
    where = torch.where(same & inside, places, 0).amax(-1)
    return back(found.to(x.dtype), dim, x), back(where, dim, x)


def cummax(x: Tensor, dim: int) -> Any:
    """The cumulative maximum, and the index of the last one."""
    return _extremes(x, dim, True)


def cummin(x: Tensor, dim: int) -> Any:
    """The cumulative minimum, and the index of the last one."""
    return _extremes(x, dim, False)


SORTING: dict[Any, Callable[..., Any]] = {
    aten.bucketize.Tensor: bucketize,
    aten.cummax.default: cummax,
    aten.cummin.default: cummin,
    aten.cumprod.default: cumprod,
    aten.cumsum.default: cumsum,
    aten.kthvalue.default: kthvalue,
    aten.logcumsumexp.default: logcumsumexp,
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
