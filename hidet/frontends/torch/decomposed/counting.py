"""Histograms, mode, nonzero, segment reductions, embedding bags; extrema with their positions."""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import torch
from torch import Tensor

from hidet.frontends.torch.decomposed.refusal import require
from hidet.frontends.torch.decomposed.sorting import back, compared_rows, keys_of, rows_of
from hidet.frontends.torch.decomposed.traced import step_of
from hidet.frontends.torch.decomposed.writes import checked

aten = torch.ops.aten

LARGEST = 1 << 24
"""The maximal number of comparisons of elements and bounds."""
FEW = 1 << 22
"""The maximal number of comparisons of elements and bins, instead of atomic additions."""


def _counted(x: Tensor, places: Tensor, inside: Tensor, weight: Tensor | None, bins: int) -> Tensor:
    """Count the elements of each bin, ignoring those outside."""
    places = torch.where(inside, places, 0).clamp(0, bins - 1)
    if weight is None and x.numel() * bins <= FEW:
        is_of = (places[:, None] == torch.arange(bins, device=x.device)) & inside[:, None]
        return is_of.sum(0).to(x.dtype)
    weight = torch.ones_like(x) if weight is None else weight.reshape(-1)
    found = torch.zeros(bins, dtype=x.dtype, device=x.device)
    return found.scatter_add(0, places, torch.where(inside, weight, 0))


def histc(x: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """The number of elements in each of `bins` bins of equal width."""
    require(x.numel() > 0 and x.dtype is not torch.bool)
    is_float, x = x.is_floating_point(), x.reshape(-1)
    low, high = (min, max) if is_float else (int(min), int(max))
    if low == high:
        flat = x.amin() == x.amax()
        low, high = x.amin() - flat.to(x.dtype), x.amax() + flat.to(x.dtype)
    scaled = ((x if is_float else x.long()) - low) * bins
    places = (scaled / (high - low)).long() if is_float else scaled // (high - low)
    return _counted(x, places, (x >= low) & (x <= high), None, bins)


def histogram(
    x: Tensor, bins: int = 100, *, range: Sequence[float] | None = None, **options: Any
) -> Any:
    """The number of elements in each bin, and the edges of the bins."""
    require(x.numel() > 0)
    (edges,) = bin_edges(x.reshape(-1, 1), [bins], range=range)
    return histogram_of(x, edges, **options)


def histogram_of(x: Tensor, edges: Tensor, **options: Any) -> Any:
    """The same for given edges; the last one belongs to the last bin."""
    return histogram_of_all(x.reshape(-1, 1), [edges], **options), edges.clone()


def bin_edges(
    x: Tensor, bins: Sequence[int], *, range: Sequence[float] | None = None, **_: Any
) -> Any:
    """The edges of bins of equal width, per coordinate; weights and density do not matter."""
    require(x.numel() > 0)
    rows = x.flatten(0, -2)
    edges: list[Tensor] = []
    for axis, count in enumerate(bins):
        ends = (rows[:, axis].amin(), rows[:, axis].amax())
        low, high = ends if range is None else range[2 * axis : 2 * axis + 2]
        half: Any = 0.5 * (low == high)
        low, high = low - half, high + half
        steps = torch.arange(count + 1, device=x.device).to(x.dtype)
        # Like torch's linspace: from both ends.
        step = (high - low) / count
        edges.append(
            torch.where(steps <= count // 2, low + steps * step, high - (count - steps) * step)
        )
    return edges


def histogram_of_all(
    x: Tensor, edges: Sequence[Tensor], *, weight: Tensor | None = None, density: bool = False
) -> Any:
    """The number of points [..., coordinates] in each bin, given the edges per coordinate."""
    rows = x.flatten(0, -2)
    require(len(rows) * max(each.numel() for each in edges) <= LARGEST and x.numel() > 0)
    places, inside = torch.zeros_like(rows[:, 0]).long(), rows[:, 0] == rows[:, 0]
    shape = [each.numel() - 1 for each in edges]
    for axis, bound in enumerate(edges):
        mine = rows[:, axis]
        place = ((mine[:, None] >= bound).sum(-1) - 1).clamp(0, shape[axis] - 1)
        places = places * shape[axis] + place
        inside = inside & (mine >= bound[0]) & (mine <= bound[-1])
    found = _counted(rows[:, 0], places, inside, weight, prod(shape)).reshape(shape)
    if density:
        found = found / found.sum()
        for axis, bound in enumerate(edges):
            found = found / (bound[1:] - bound[:-1]).reshape(-1, *[1] * (len(shape) - 1 - axis))
    return found


def histogram_of_counts(
    x: Tensor, bins: Sequence[int], *, range: Any = None, **options: Any
) -> Any:
    """The same for bins of equal width."""
    return histogram_of_all(x, bin_edges(x, bins, range=range), **options)


def mode(x: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element of each row, the smallest of several, and its last index."""
    require(x.numel() > 0)
    rows = compared_rows(x, dim)
    same = rows[..., :, None] == rows[..., None, :]
    counts = same.sum(-1)
    most = counts == counts.amax(-1, keepdim=True)
    largest = torch.inf if rows.is_floating_point() else torch.iinfo(rows.dtype).max
    value = torch.where(most, rows, largest).amin(-1, keepdim=True)
    places = torch.arange(rows.shape[-1], device=x.device)
    place = torch.where(rows == value, places, 0).amax(-1, keepdim=True)
    return tuple(back(each, dim, x, keepdim) for each in (value.to(x.dtype), place))


def nonzero_static(x: Tensor, *, size: int, fill_value: int = -1) -> Any:
    """The indices of the first nonzero elements, padded with a value."""
    if x.dim() == 0 or size == 0:
        return torch.zeros((size, x.dim()), dtype=torch.int64, device=x.device)
    require(x.numel() > 0)
    before = (x.reshape(-1) != 0).cumsum(0)
    place = torch.searchsorted(before, torch.arange(1, size + 1, device=x.device))
    inside = place < x.numel()
    columns: list[Tensor] = []
    for extent in reversed(x.shape):
        columns.append(torch.where(inside, place % extent, fill_value))
        place = place // extent
    return torch.stack(columns[::-1], -1)


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Any:
    """Reductions of consecutive segments of the first dimension."""
    bounds = offsets if lengths is None else lengths
    require(bounds is not None and bounds.dim() == 1 and axis == 0 and data.shape[0] > 0)
    assert bounds is not None
    ends = offsets[1:] if offsets is not None else bounds.cumsum(0)
    begins = offsets[:-1] if offsets is not None else ends - bounds
    places = torch.arange(data.shape[0], device=data.device)
    inside = (places >= begins[:, None]) & (places < ends[:, None])
    inside = inside.reshape(*inside.shape, *(1 for _ in data.shape[1:]))
    empty = (ends == begins).reshape(-1, *(1 for _ in data.shape[1:]))
    neutral = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -torch.inf, "min": torch.inf}[reduce]
    parts = torch.where(inside, data, neutral)
    start = neutral if initial is None else initial
    if reduce in ("max", "min"):
        found = parts.amax(1) if reduce == "max" else parts.amin(1)
        return found.clamp(min=start) if reduce == "max" else found.clamp(max=start)
    if reduce == "prod":
        return parts.prod(1) * start
    total = parts.sum(1) + start
    if reduce == "mean":
        count = (ends - begins).reshape(empty.shape)
        missing = torch.nan if initial is None else start
        return torch.where(empty, missing, total / count)
    return total


def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:
    """Reductions of the rows of a table in each bag, and the tensors that gradients need.

    Bags that are known to be equal are rows of tensors [bags, step, ...].
    """
    bags, count = offsets.numel() - include_last_offset, indices.numel()
    require(indices.dim() == 1 and count > 0 and bags > 0)
    places = torch.arange(count, device=indices.device)
    numbers = torch.arange(bags, device=indices.device)[:, None]
    step = step_of(offsets)
    step = step if step is not None and step * bags == count else None
    if step is not None:
        bag = places // step
    else:
        offsets = torch.cat([checked(offsets[:1], 1), checked(offsets[1:], count + 1)])
        bag = torch.searchsorted(offsets[:bags], places, right=True) - 1

    def total(x: Tensor) -> Tensor:
        if step is not None:
            return x.reshape(bags, step, *x.shape[1:]).sum(1, dtype=x.dtype)
        return x.new_zeros(bags, *x.shape[1:]).index_add(0, bag, x)

    counted = torch.ones_like(indices, dtype=torch.bool)
    if include_last_offset:
        counted = places < offsets[-1]
    if padding_idx >= 0:
        counted = counted & (indices != padding_idx)
    if step is not None and padding_idx < 0:
        counts = torch.full_like(offsets[:bags], step)
    else:
        counts = total(counted.to(offsets.dtype))
    rows = weight.index_select(0, indices)
    rows = torch.where(counted[:, None], rows, -torch.inf if mode == 2 else 0)
    if mode == 2:
        if step is not None:
            found, where = rows.reshape(bags, step, -1).max(1)
            where = where + numbers * step
        else:
            found, where = torch.where((bag == numbers)[..., None], rows, -torch.inf).max(1)
        found = torch.where(counts[:, None] == 0, 0, found)
        return found, bag.to(indices.dtype), counts, indices[where]
    rows = rows if per_sample_weights is None else rows * per_sample_weights[:, None]
    found = total(rows.to(torch.promote_types(rows.dtype, torch.float32)))
    found = found / counts.clamp(min=1)[:, None] if mode == 1 else found
    return found.to(weight.dtype), bag.to(indices.dtype), counts, counts


def embedding_bag_backward(
    grad: Tensor,
    indices: Tensor,
    offsets: Tensor,
    bag: Tensor,
    counts: Tensor,
    largest: Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    padding_idx: int = -1,
) -> Any:
    """The gradient of the table: sums of those of the bags that its rows are in."""
    require(not sparse and not scale_grad_by_freq)  # torch's own divides by others on the CPU
    wide = grad.to(torch.promote_types(grad.dtype, torch.float32))
    total = wide.new_zeros(num_weights, grad.shape[1])
    if mode == 2:
        kept = torch.where(counts[:, None] == 0, 0, wide)
        return total.scatter_add(0, largest, kept).to(grad.dtype)
    if mode == 1:
        wide = wide / counts.clamp(min=1)[:, None]
    rows = wide.index_select(0, bag)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, None]
    if padding_idx >= 0:
        rows = torch.where((indices != padding_idx)[:, None], rows, 0)
    return total.index_add(0, indices, rows).to(grad.dtype)


def gradient_of_sample_weights(
    grad: Tensor,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    bag: Tensor,
    mode: int,
    padding_idx: int = -1,
) -> Any:
    """The gradient of the weights of the rows of bags: products of rows and gradients."""
    products = grad.index_select(0, bag) * weight.index_select(0, indices)
    found = products.to(torch.promote_types(grad.dtype, torch.float32)).sum(1).to(grad.dtype)
    return found if padding_idx < 0 else torch.where(indices != padding_idx, found, 0)


COUNTING: dict[Any, Callable[..., Any]] = {
    aten._embedding_bag.default: embedding_bag,
    aten._embedding_bag_backward.default: embedding_bag_backward,
    aten._embedding_bag_forward_only.default: embedding_bag,
    aten._embedding_bag_per_sample_weights_backward.default: gradient_of_sample_weights,
    aten._histogramdd_bin_edges.default: bin_edges,
    aten._histogramdd_from_bin_cts.default: histogram_of_counts,
    aten._histogramdd_from_bin_tensors.default: histogram_of_all,
    aten.histc.default: histc,
    aten.histogram.bin_ct: histogram,
    aten.histogram.bins_tensor: histogram_of,
    aten.mode.default: mode,
    aten.nonzero_static.default: nonzero_static,
    aten.segment_reduce.default: segment_reduce,
}
"""The decompositions of operators that count."""


# ----------------------------------------------------------------- extrema with positions


def _place(rows: Tensor, largest: bool) -> Tensor:
    """Return the position of the first largest or smallest element, or NaN, of rows, [..., 1].

    A key and its position are one integer, of 64 bits its halves, unless the key alone has 64 bits.
    """
    size = rows.shape[-1]
    places = torch.arange(size, device=rows.device)
    keys = keys_of(rows, descending=largest, nan_is_last=False)
    if keys.dtype is torch.int64:
        return torch.where(keys == keys.amin(-1, True), places, size).amin(-1, True)
    fits = 8 * keys.itemsize + size.bit_length() <= 32
    kind, bits = (torch.int32, size.bit_length()) if fits else (torch.int64, 32)
    best = (keys.to(kind) << bits | places.to(kind)).amin(-1, True)
    return (best & ((1 << bits) - 1)).long()


def position(largest: bool, x: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The first position of the largest or smallest element; NaN counts as either."""
    require(not x.is_complex())
    rows = rows_of(x.reshape(-1) if dim is None else x, 0 if dim is None else dim)
    found = _place(rows, largest)
    if dim is None:
        return found.reshape([1] * x.dim() if keepdim else [])
    return back(found, dim, x, keepdim)


def extremum(largest: bool, x: Tensor, dim: int, keepdim: bool = False) -> Any:
    """The largest or smallest elements, with their positions."""
    place = position(largest, x, dim, True)
    if x.dim() == 0:
        return x.clone(), place
    found = x.gather(dim, place), place
    return found if keepdim else tuple(each.squeeze(dim) for each in found)


EXTREMA: dict[Any, Callable[..., Any]] = {
    aten.argmax.default: partial(position, True),
    aten.argmin.default: partial(position, False),
    aten.max.dim: partial(extremum, True),
    aten.min.dim: partial(extremum, False),
}
"""The decompositions of extrema."""
