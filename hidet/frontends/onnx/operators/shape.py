"""Operators that move elements, or create tensors."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn import functional as nn

from hidet.errors import UnsupportedOperatorError
from hidet.frontends.onnx.table import Ints, KnownTensor, Number, T, row
from hidet.frontends.onnx.values import dtype_of


@row("Concat")
def concat(*xs: T, axis: int) -> T:
    """Return the concatenation of tensors along an axis."""
    return torch.cat(xs, axis)


@row("Constant", of_shapes=True)
def constant(**value: Any) -> T:
    """Return the value of the attribute, of any kind."""
    return torch.as_tensor(next(iter(value.values())))


@row("ConstantOfShape")
def constant_of_shape(shape: Ints, *, value: T | None = None) -> T:
    """Return a tensor of one number, 0 if none is given."""
    return torch.zeros(shape) if value is None else value.expand(shape)


@row("DepthToSpace")
def depth_to_space(x: T, *, blocksize: int, mode: str = "DCR") -> T:
    """Return channels as blocks of pixels."""
    if mode == "CRD":
        return nn.pixel_shuffle(x, blocksize)
    n, c, h, w = x.shape
    parts = x.reshape(n, blocksize * blocksize, c // blocksize**2, h, w)
    return nn.pixel_shuffle(parts.transpose(1, 2).reshape(x.shape), blocksize)


@row("Expand")
def expand(x: T, shape: Ints) -> T:
    """Return x broadcast with a shape."""
    return x.expand(torch.broadcast_shapes(x.shape, shape))  # pyright: ignore[reportUnknownArgumentType]


@row("EyeLike", of_shapes=True)
def eye_like(x: T, *, dtype: int | None = None, k: int = 0) -> T:
    """Return a matrix of the shape of x with ones on a diagonal."""
    h, w = x.shape
    ones = torch.arange(h)[:, None] + k == torch.arange(w)
    return ones.to(x.dtype if dtype is None else dtype_of(dtype))


@row("Flatten")
def flatten(x: T, *, axis: int = 1) -> T:
    """Return x flattened to a matrix: the dimensions before an axis, and the others."""
    axis = axis if axis >= 0 else axis + x.dim()
    return x.reshape(math.prod(x.shape[:axis]), -1 if x.numel() else math.prod(x.shape[axis:]))


@row("Pad")
def pad(
    x: T,
    pads: Ints,
    value: Number | None = None,
    axes: Ints | None = None,
    *,
    mode: str = "constant",
) -> T:
    """Return x padded."""
    axes = list(range(x.dim())) if axes is None else axes
    amounts = [0, 0] * x.dim()
    for number, axis in enumerate(axes):
        place = 2 * (x.dim() - 1 - axis % x.dim())
        amounts[place : place + 2] = [pads[number], pads[number + len(axes)]]
    if mode == "constant":
        return nn.pad(x, amounts, value=value or 0)
    # torch supports the other modes for the last dimensions only, so axes are padded separately.
    for axis in range(x.dim()):
        before, after = amounts[2 * (x.dim() - 1 - axis) :][:2]
        if before or after:
            x = x.index_select(
                axis, _padded_positions(x.shape[axis], before, after, mode, x.device)
            )
    return x


def _padded_positions(size: int, before: int, after: int, mode: str, device: torch.device) -> T:
    """Return the source indices of a padded dimension."""
    positions = torch.arange(-before, size + after, device=device)
    match mode:
        case "edge":
            return positions.clamp(0, size - 1)
        case "wrap":
            return positions % size
        case "reflect":
            period = max(2 * (size - 1), 1)
            return (size - 1) - ((positions % period) - (size - 1)).abs()
        case _:
            raise UnsupportedOperatorError(f"there is no mode '{mode}'")


@row("Range")
def arange(start: KnownTensor, limit: KnownTensor, delta: KnownTensor) -> T:
    """Return start, start + delta ... below the limit."""
    count = max(math.ceil((limit.item() - start.item()) / delta.item()), 0)
    return start + delta * torch.arange(count, dtype=start.dtype)


@row("Reshape")
def reshape(x: T, shape: Ints, *, allowzero: int = 0) -> T:
    """Return x reshaped; 0 keeps a size, unless `allowzero`."""
    sizes = [x.shape[n] if size == 0 and not allowzero else size for n, size in enumerate(shape)]
    return x.reshape(sizes)


@row("Shape", of_shapes=True)
def shape_of(x: T, *, start: int = 0, end: int | None = None) -> T:
    """Return the sizes of a range of dimensions of x."""
    return torch.tensor(x.shape[start:end], dtype=torch.int64)


@row("Size", of_shapes=True)
def size(x: T) -> T:
    """Return the number of elements of x."""
    return torch.tensor(x.numel())


@row("Slice")
def slice_of(
    x: T, starts: Ints, ends: Ints, axes: Ints | None = None, steps: Ints | None = None
) -> T:
    """Return x sliced along some axes, with steps that may be negative."""
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        found = range(*slice(start, end, step).indices(x.shape[axis]))
        if end < -x.shape[axis] and step < 0:  # down to the first one
            found = range(*slice(start, None, step).indices(x.shape[axis]))
        if step > 0:
            last = max(found.stop, found.start)
            x = x[(slice(None),) * (axis % x.dim()) + (slice(found.start, last, step),)]
        elif len(found) == 0:
            x = x.narrow(axis, 0, 0)
        else:
            x = x.narrow(axis, found[-1], found[0] - found[-1] + 1).flip(axis)
            x = x[(slice(None),) * (axis % x.dim()) + (slice(None, None, -step),)]
    return x


@row("SpaceToDepth")
def space_to_depth(x: T, *, blocksize: int, mode: str = "DCR") -> T:
    """Return blocks of pixels as channels."""
    n, c, h, w = x.shape
    parts = x.reshape(n, c, h // blocksize, blocksize, w // blocksize, blocksize)
    order = (0, 1, 3, 5, 2, 4) if mode == "CRD" else (0, 3, 5, 1, 2, 4)
    return parts.permute(order).reshape(n, -1, h // blocksize, w // blocksize)


@row("Split")
def split(
    x: T, split: Ints | None = None, *, axis: int = 0, num_outputs: int = 0, outputs: int
) -> list[T]:
    """Return x split along an axis: by sizes, or by the number of outputs."""
    if split is None:
        extent, count = x.shape[axis], num_outputs or outputs
        part = -(-extent // count)
        split = [min(part, extent - part * n) for n in range(count)]
    return list(torch.split(x, split, axis))


@row("Squeeze")
def squeeze(x: T, axes: Ints | None = None) -> T:
    """Return x without some dimensions of size 1, or without all of them."""
    return x.squeeze() if axes is None else x.squeeze(tuple(axes))


@row("Tile")
def tile(x: T, repeats: Ints) -> T:
    """Return x tiled along each dimension."""
    return x.repeat(repeats)


@row("Transpose")
def transpose(x: T, *, perm: Ints | None = None) -> T:
    """Return x with its dimensions permuted, reversed by default."""
    return x.permute(*(reversed(range(x.dim())) if perm is None else perm))


@row("Trilu")
def trilu(x: T, k: Number = 0, *, upper: int = 1) -> T:
    """Return the upper or lower triangle of matrices."""
    return torch.triu(x, int(k)) if upper else torch.tril(x, int(k))


@row("Unsqueeze")
def unsqueeze(x: T, axes: Ints) -> T:
    """Return x with dimensions of size 1 inserted."""
    axes = [axes] if isinstance(axes, int) else axes  # a scalar is one axis
    rank = x.dim() + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        x = x.unsqueeze(axis)
    return x
