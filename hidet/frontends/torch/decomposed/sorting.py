"""Sorting.

In short rows, or few, the rank of an element is the number of those before it: quadratic work, but
for all threads of a GPU. What is sorted otherwise are integers of a key and a position, by the
kernels of `hidet.frontends.torch.kernels.sort`.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from hidet.frontends.torch.decomposed.refusal import require
from hidet.frontends.torch.decomposed.traced import known_bits

aten = torch.ops.aten

SHORT, PAIRS = 16, {"cpu": 0, "cuda": 1 << 23}
"""The maximal length of rows that are sorted by ranks, and, by device, the maximal number of pairs
of elements for longer ones: 2048 elements are 4 million pairs."""
SHARED_BYTES = 1 << 16
"""The shared memory of a block that sorts a row, or a part of it, which all GPUs have."""
LONGEST = {"cpu": 1 << 14, "cuda": 1 << 18}
"""The maximal length of rows that are sorted, by device: each merge of parts is further kernels."""
THREADS = {"cpu": (1, 1), "cuda": (32, 1024)}
"""The fewest and the most threads of a block that sorts, by device."""
LEAST_PART, PARTS = 256, 16
"""The first elements of a row are searched in parts that are so long, or so many times as long as
what is searched: parts are sorted with less work, by more blocks."""
COMPARED, LARGEST = 1024, {"cpu": 1 << 26, "cuda": 1 << 31}
"""The maximal length of rows of which all pairs are compared, and the maximal number of comparisons
for longer ones, by device."""


def compared_rows(x: Tensor, dim: int) -> Tensor:
    """Move a dimension of a tensor to the end; refuse to if comparing all pairs is too much."""
    rows = rows_of(x, dim)
    length, largest = rows.shape[-1], LARGEST.get(x.device.type, 0)
    require((length <= COMPARED or rows.numel() * length <= largest) and not x.is_complex())
    return rows


def rows_of(x: Tensor, dim: int) -> Tensor:
    """Move a dimension of a tensor to the end; booleans become integers."""
    rows = x.reshape(1) if x.dim() == 0 else x.movedim(dim, -1)
    return rows.to(torch.int8) if rows.dtype is torch.bool else rows


def back(rows: Tensor, dim: int, like: Tensor, keepdim: bool = True) -> Tensor:
    """Undo `rows_of`; rows of one element may lose their dimension."""
    if like.dim() == 0:
        return rows.reshape(())
    return rows.movedim(-1, dim) if keepdim else rows.squeeze(-1)


def keys_of(x: Tensor, *, descending: bool, nan_is_last: bool) -> Tensor:
    """Return integers in the order of the elements, or the opposite one; NaN is first or last."""
    if not x.is_floating_point():
        return ~x if descending else x
    kind = {2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()]
    limits = torch.iinfo(kind)
    bits = (x + 0.0).view(kind)  # of 0 for -0
    keys = torch.where(bits < 0, bits ^ limits.max, bits)
    return torch.where(
        x.isnan(), limits.max if nan_is_last else limits.min, ~keys if descending else keys
    )


def _order(keys: Tensor, count: int, width: int | None = None) -> Tensor:
    """Return the positions of the first elements of rows in a stable sort.

    A width says that keys fit into so many bits, one for their sign.
    """
    size, width = keys.shape[-1], width or 8 * keys.itemsize
    bits = (size - 1).bit_length()
    keys = keys.int() if width <= 32 else keys
    if size <= SHORT or keys.numel() * size <= PAIRS.get(keys.device.type, 0):
        found = _order_by_ranks(keys)[..., :count].long()
    elif width > 32:  # by the lower half, then by the upper one
        half = 1 << 31
        first = _order((keys % (2 * half) - half).int(), size)
        found = first.gather(-1, _order((keys.gather(-1, first) >> 32).int(), count))
    else:
        kind = torch.int32 if width + bits <= 32 else torch.int64
        places = torch.arange(size, device=keys.device, dtype=kind)
        found = _first_words(keys.to(kind) << bits | places, count).long()
    return found & ((1 << bits) - 1)  # which tells `known_bits`


def _order_by_ranks(keys: Tensor) -> Tensor:
    """Return the positions of elements in a stable sort, whose ranks count those before them."""
    places = torch.arange(keys.shape[-1], device=keys.device, dtype=torch.int32)
    mine, others = keys[..., :, None], keys[..., None, :]
    is_before = (others < mine) | ((others == mine) & (places < places[:, None]))
    ranks = is_before.sum(-1, dtype=torch.int32)
    has_rank = ranks[..., None, :] == places[:, None]
    return torch.where(has_rank, places, 0).sum(-1, dtype=torch.int32)


def _first_words(words: Tensor, count: int) -> Tensor:
    """Return the smallest integers of rows in ascending order: those of all parts have them."""
    size, part = words.shape[-1], max(LEAST_PART, PARTS << (count - 1).bit_length())
    if size <= part or part > SHARED_BYTES // words.itemsize:
        return _sorted_words(words)[..., :count]
    parts = _padded(words, -(-size // part) * part).reshape(*words.shape[:-1], -1, part)
    return _first_words(_by_kernel(parts, bitonic=False)[..., :count].flatten(-2), count)


def _padded(words: Tensor, size: int) -> Tensor:
    """Return rows with the largest integer behind them."""
    return torch.constant_pad_nd(words, [0, size - words.shape[-1]], torch.iinfo(words.dtype).max)


def _sorted_words(words: Tensor) -> Tensor:
    """Return rows of integers in ascending order: parts in shared memory, then merges of them.

    A merge compares the elements of its second half from behind, so that both become bitonic.
    """
    size, part = words.shape[-1], SHARED_BYTES // words.itemsize
    if size <= part:
        return _by_kernel(words, bitonic=False)
    whole = 1 << (size - 1).bit_length()
    found = _by_kernel(_padded(words, whole).reshape(-1, part), bitonic=False)
    while part < whole:
        found, apart = _exchanged(found, part, mirrored=True), part // 2
        while apart * words.itemsize >= SHARED_BYTES:
            found = _exchanged(found, apart, mirrored=False)
            apart //= 2
        found = _by_kernel(found.reshape(-1, 2 * apart), bitonic=True)
        part *= 2
    return found.reshape(*words.shape[:-1], whole)[..., :size]


def _exchanged(words: Tensor, apart: int, *, mirrored: bool) -> Tensor:
    """Return integers with those in order that are some apart, or mirrored in twice as many."""
    pairs = words.reshape(-1, 2, apart)
    others = pairs.flip(1, 2) if mirrored else pairs.flip(1)
    is_upper = torch.arange(2, device=words.device)[:, None] == 1
    return torch.where(is_upper, pairs.maximum(others), pairs.minimum(others))


def _by_kernel(rows: Tensor, *, bitonic: bool) -> Tensor:
    """Return rows in ascending order, each sorted by a block; they are bitonic, or in any order."""
    from hidet.frontends.torch.kernels.sort import STEPS, sort_rows  # imports the script language

    flat = rows.reshape(-1, rows.shape[-1]).contiguous()
    if flat.numel() == 0:
        return rows
    element, (count, length) = str(rows.dtype).removeprefix("torch."), flat.shape
    least, most = THREADS[rows.device.type]
    threads = min(most, max(least, (1 << (length - 1).bit_length()) >> STEPS))
    kernel = sort_rows(element, count, length, threads, bitonic)
    (found,) = kernel.functional([flat], [torch.empty_like(flat)])
    return found.reshape(rows.shape)


def _sorted(
    x: Tensor, dim: int, descending: bool, count: int | None = None
) -> tuple[Tensor, Tensor]:
    """Return the first elements of sorted rows, and their indices."""
    rows = rows_of(x, dim)
    require(not x.is_complex() and rows.shape[-1] <= LONGEST.get(x.device.type, 0))
    keys = keys_of(rows, descending=descending, nan_is_last=not descending)
    bits = known_bits(x)
    width = None if bits is None else bits + 1
    order = _order(keys, rows.shape[-1] if count is None else count, width)
    return rows.gather(-1, order).to(x.dtype), order


def sort(x: Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None) -> Any:
    """The sorted elements, and their indices; it is always stable."""
    return tuple(back(each, dim, x) for each in _sorted(x, dim, descending))


def topk(x: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The largest or smallest elements, sorted, and their indices."""
    return tuple(back(each, dim, x) for each in _sorted(x, dim, largest, k))


def _chosen(x: Tensor, dim: int, keepdim: bool, place: Callable[[Tensor], Tensor]) -> Any:
    """Return the element of each row with a rank, and its index.

    `place` returns the ranks [..., 1], given the sorted rows.
    """
    require(x.numel() > 0)
    found = _sorted(x, dim, False)
    at = place(found[0])
    return tuple(back(each.gather(-1, at), dim, x, keepdim) for each in found)


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
    return lambda x: function(x.reshape(-1), 0)[0]


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


SORTING: dict[Any, Callable[..., Any]] = {
    aten.bucketize.Tensor: bucketize,
    aten.kthvalue.default: kthvalue,
    aten.median.default: _of_all(median),
    aten.median.dim: median,
    aten.nanmedian.default: _of_all(nanmedian),
    aten.nanmedian.dim: nanmedian,
    aten.searchsorted.Tensor: searchsorted,
    aten.sort.default: sort,
    aten.sort.stable: sort,
    aten.topk.default: topk,
}
"""The decompositions of sorting."""
