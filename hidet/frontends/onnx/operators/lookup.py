"""Gather and scatter; quantization."""

from __future__ import annotations

import torch
from torch.nn import functional as nn

from hidet.errors import UnsupportedOperatorError
from hidet.frontends.onnx.table import Ints, KnownTensor, Number, T, row
from hidet.frontends.onnx.values import dtype_of


def _from_front(positions: T, size: int) -> T:
    """Normalize negative indices."""
    positions = positions.to(torch.int64)
    return torch.where(positions < 0, positions + size, positions)


@row("Gather")
def gather(x: T, positions: T, *, axis: int = 0) -> T:
    """Return slices of x along an axis."""
    axis = axis % x.dim()
    found = x.index_select(axis, _from_front(positions.reshape(-1), x.shape[axis]))
    return found.reshape([*x.shape[:axis], *positions.shape, *x.shape[axis + 1 :]])


@row("GatherElements")
def gather_elements(x: T, positions: T, *, axis: int = 0) -> T:
    """Return one element of x per index along an axis."""
    return torch.gather(x, axis, _from_front(positions, x.shape[axis]))


@row("GatherND")
def gather_nd(x: T, positions: T, *, batch_dims: int = 0) -> T:
    """Return the elements of x at indices into its first dimensions."""
    batch = x.shape[:batch_dims]
    flat = x.reshape(batch.numel(), *x.shape[batch_dims:])
    places = positions.reshape(batch.numel(), -1, positions.shape[-1])
    samples = torch.arange(batch.numel(), device=x.device)[:, None].expand(places.shape[:2])
    parts = [_from_front(places[..., n], flat.shape[n + 1]) for n in range(places.shape[-1])]
    found = flat[(samples, *parts)]
    return found.reshape([*positions.shape[:-1], *x.shape[batch_dims + positions.shape[-1] :]])


_REDUCE = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


@row("Scatter")
@row("ScatterElements")
def scatter_elements(
    x: T, positions: T, updates: T, *, axis: int = 0, reduction: str = "none"
) -> T:
    """Return x with elements written at indices along an axis, or combined by a reduction."""
    places = _from_front(positions, x.shape[axis])
    if reduction == "none":
        return x.scatter(axis, places, updates)
    return x.scatter_reduce(axis, places, updates, _REDUCE[reduction])


@row("ScatterND")
def scatter_nd(x: T, positions: T, updates: T, *, reduction: str = "none") -> T:
    """Return x with slices written at indices into its first dimensions, or combined."""
    count = positions.shape[-1]
    strides = torch.Size(x.shape[:count])
    place = torch.zeros_like(positions[..., 0], dtype=torch.int64)
    for number in range(count):
        place = place * strides[number] + _from_front(positions[..., number], strides[number])
    flat = x.reshape(strides.numel(), -1)
    rows_of = updates.reshape(-1, flat.shape[1])
    places = place.reshape(-1)
    if reduction == "none":
        return flat.index_copy(0, places, rows_of).reshape(x.shape)
    wide = places[:, None].expand(rows_of.shape)
    return flat.scatter_reduce(0, wide, rows_of, _REDUCE[reduction]).reshape(x.shape)


@row("OneHot")
def one_hot(positions: T, depth: Number, values: T, *, axis: int = -1) -> T:
    """Return the second value at each index along a new axis, the first one elsewhere."""
    count = int(depth)
    rank = positions.dim() + 1
    sizes = [1] * rank
    sizes[axis] = count
    found = _from_front(positions, count).unsqueeze(axis)
    hit = found == torch.arange(count, device=positions.device).reshape(sizes)
    return torch.where(hit, values[1], values[0])


@row("Compress")
def compress(x: T, condition: Ints, *, axis: int | None = None) -> T:
    """Return the slices along an axis, or the elements, where a condition is true."""
    places = torch.tensor([n for n, is_taken in enumerate(condition) if is_taken], device=x.device)
    return x.reshape(-1)[places] if axis is None else x.index_select(axis, places)


@row("NonZero")
def nonzero(x: KnownTensor) -> T:
    """Return the indices of all nonzero elements, one per column."""
    return torch.nonzero(x).t()


@row("ReverseSequence")
def reverse_sequence(x: T, lengths: T, *, batch_axis: int = 1, time_axis: int = 0) -> T:
    """Return x with the first elements along the time axis reversed, per sample."""
    moved = x.movedim((batch_axis, time_axis), (0, 1))
    times = torch.arange(moved.shape[1], device=x.device)[None, :]
    lengths = lengths[:, None]
    places = torch.where(times < lengths, lengths - 1 - times, times)
    wide = places.reshape(*places.shape, *[1] * (moved.dim() - 2)).expand(moved.shape)
    return torch.gather(moved, 1, wide).movedim((0, 1), (batch_axis, time_axis))


def _along(values: T, x: T, axis: int, block: int) -> T:
    """Broadcast numbers for all of x, per index of an axis, or per block of it."""
    if block:
        return values.repeat_interleave(block, axis).narrow(axis, 0, x.shape[axis])
    if values.dim() != 1:
        return values
    return values.reshape([-1 if n == axis % x.dim() else 1 for n in range(x.dim())])


@row("DequantizeLinear")
def dequantize(
    x: T,
    scale: T,
    zero: T | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> T:
    """Return (x - zero) * scale."""
    kind = dtype_of(output_dtype) if output_dtype else scale.dtype
    y = x.to(kind) if zero is None else x.to(kind) - _along(zero, x, axis, block_size).to(kind)
    return y * _along(scale, x, axis, block_size).to(kind)


@row("QuantizeLinear")
def quantize(
    x: T,
    scale: T,
    zero: T | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: int = 1,
) -> T:
    """Return x / scale + zero, rounded and saturated."""
    kind = zero.dtype if zero is not None else dtype_of(output_dtype or 2)
    if kind.is_floating_point:
        raise UnsupportedOperatorError(f"it does not quantise to {kind}")
    y = (x / _along(scale, x, axis, block_size)).round()
    y = y if zero is None else y + _along(zero, x, axis, block_size).to(y.dtype)
    info = torch.iinfo(kind)
    return y.clamp(info.min, info.max).to(kind)


@row("GridSample")
def grid_sample(
    x: T, grid: T, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros"
) -> T:
    """Return images sampled at a grid, interpolated."""
    names = {"linear": "bilinear", "cubic": "bicubic"}  # since opset 20
    return nn.grid_sample(x, grid, names.get(mode, mode), padding_mode, bool(align_corners))
