"""What slides over images: convolutions and pools, with the paddings that ONNX knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import functional as nn

from hidet.errors import UnsupportedOperatorError
from hidet.frontends.onnx.table import Ints, T, row

_CONV: dict[int, Callable[..., T]] = {1: nn.conv1d, 2: nn.conv2d, 3: nn.conv3d}
_TRANSPOSED: dict[int, Callable[..., T]] = {
    1: nn.conv_transpose1d,
    2: nn.conv_transpose2d,
    3: nn.conv_transpose3d,
}
_MAX: dict[int, Callable[..., Any]] = {1: nn.max_pool1d, 2: nn.max_pool2d, 3: nn.max_pool3d}
_MEAN: dict[int, Callable[..., T]] = {1: nn.avg_pool1d, 2: nn.avg_pool2d, 3: nn.avg_pool3d}


def _of_rank(functions: dict[int, Callable[..., Any]], x: T) -> Callable[..., Any]:
    """Return the function for so many dimensions of space."""
    if x.dim() - 2 not in functions:
        raise UnsupportedOperatorError(f"it slides over {x.dim() - 2} dimensions")
    return functions[x.dim() - 2]


def _padding(
    x: T, spans: Sequence[int], strides: Ints, pads: Ints | None, auto_pad: str
) -> list[tuple[int, int]]:
    """Return what stands before and after each dimension of space.

    Args:
        x: the images.
        spans: the elements from the first to the last of a window.
        strides: the steps of the windows.
        pads: what the model says: all that stand before, and then all that stand after.
        auto_pad: or a rule.
    """
    rank = x.dim() - 2
    if auto_pad in ("NOTSET", ""):
        pads = pads or [0] * (2 * rank)
        return list(zip(pads[:rank], pads[rank:], strict=True))
    if auto_pad == "VALID":
        return [(0, 0)] * rank
    found: list[tuple[int, int]] = []
    for size, span, stride in zip(x.shape[2:], spans, strides, strict=True):
        total = max((-(-size // stride) - 1) * stride + span - size, 0)
        small, large = total // 2, total - total // 2
        found.append((small, large) if auto_pad == "SAME_UPPER" else (large, small))
    return found


def _padded(x: T, pads: Sequence[tuple[int, int]], value: float = 0.0) -> T:
    """Return images with a number around them."""
    amounts = [amount for pair in reversed(pads) for amount in pair]
    return nn.pad(x, amounts, value=value) if any(amounts) else x


def _spans(kernel: Sequence[int], dilations: Sequence[int]) -> list[int]:
    return [(size - 1) * step + 1 for size, step in zip(kernel, dilations, strict=True)]


@row("Conv")
def conv(
    x: T,
    w: T,
    b: T | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Ints | None = None,
    group: int = 1,
    kernel_shape: Ints | None = None,
    pads: Ints | None = None,
    strides: Ints | None = None,
) -> T:
    """Return the convolution of images [n, c, ...] with filters."""
    ones = [1] * (x.dim() - 2)
    dilations, strides = dilations or ones, strides or ones
    around = _padding(x, _spans(w.shape[2:], dilations), strides, pads, auto_pad)
    before = [before for before, _ in around]
    if any(pair[0] != pair[1] for pair in around):
        x, before = _padded(x, around), [0] * len(around)
    return _of_rank(_CONV, x)(x, w, b, strides, before, dilations, group)


@row("ConvTranspose")
def conv_transpose(
    x: T,
    w: T,
    b: T | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Ints | None = None,
    group: int = 1,
    kernel_shape: Ints | None = None,
    output_padding: Ints | None = None,
    output_shape: Ints | None = None,
    pads: Ints | None = None,
    strides: Ints | None = None,
) -> T:
    """Return what a convolution would have made these images of."""
    rank = x.dim() - 2
    dilations, strides = dilations or [1] * rank, strides or [1] * rank
    more = output_padding or [0] * rank
    full = _of_rank(_TRANSPOSED, x)(x, w, None, strides, 0, 0, group, dilations)
    if output_shape is None and auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        output_shape = [size * stride for size, stride in zip(x.shape[2:], strides, strict=True)]
    if output_shape is None:
        around = _padding(x, (), strides, pads, auto_pad)
        around = [(before, after - n) for (before, after), n in zip(around, more, strict=True)]
    else:
        sizes = zip(full.shape[2:], output_shape[-rank:], strict=True)
        totals = [have - want for have, want in sizes]
        upper = auto_pad == "SAME_UPPER"
        around = [(t // 2, t - t // 2) if upper else (t - t // 2, t // 2) for t in totals]
    found = _padded(full, [(-before, -after) for before, after in around])
    return found if b is None else found + b.reshape(-1, *[1] * rank)


def _ceiled(
    x: T, spans: Sequence[int], strides: Ints, around: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return the padding with what a last window takes that only begins inside."""
    found: list[tuple[int, int]] = []
    for size, span, stride, (before, after) in zip(
        x.shape[2:], spans, strides, around, strict=True
    ):
        count = -(-(size + before + after - span) // stride) + 1
        if (count - 1) * stride >= size + before:  # it would begin behind the image
            count -= 1
        found.append((before, max((count - 1) * stride + span - size - before, after)))
    return found


@row("MaxPool")
def max_pool(
    x: T,
    *,
    kernel_shape: Ints,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Ints | None = None,
    pads: Ints | None = None,
    storage_order: int = 0,
    strides: Ints | None = None,
    outputs: int,
) -> list[T]:
    """Return the largest elements of windows, and where they are among all elements."""
    ones = [1] * (x.dim() - 2)
    dilations, strides = dilations or ones, strides or ones
    spans = _spans(kernel_shape, dilations)
    around = _padding(x, spans, strides, pads, auto_pad)
    if ceil_mode:
        around = _ceiled(x, spans, strides, around)
    lowest = float("-inf") if x.is_floating_point() else torch.iinfo(x.dtype).min
    padded, pool = _padded(x, around, lowest), _of_rank(_MAX, x)
    if outputs == 1:
        before = [pair[0] for pair in around]
        plain = all(b == a and 2 * b <= k for (b, a), k in zip(around, kernel_shape, strict=True))
        if plain and x.is_floating_point():
            return [pool(x, kernel_shape, strides, before, dilations)]
        return [pool(padded, kernel_shape, strides, 0, dilations)]
    values, places = pool(padded, kernel_shape, strides, 0, dilations, return_indices=True)
    return [values, _places(x, padded, places, around, storage_order)]


def _places(x: T, padded: T, places: T, around: list[tuple[int, int]], storage_order: int) -> T:
    """Return positions in padded images as positions in all of x."""
    coordinates: list[T] = []
    for size, (before, _) in reversed(list(zip(padded.shape[2:], around, strict=True))):
        coordinates.insert(0, places % size - before)
        places = places // size
    order = list(range(len(coordinates)))
    result = torch.zeros_like(places)
    for number in reversed(order) if storage_order else order:
        result = result * x.shape[2 + number] + coordinates[number]
    images = torch.arange(x.shape[0] * x.shape[1], device=x.device)
    offset = images.reshape(x.shape[0], x.shape[1], *[1] * len(order)) * x.shape[2:].numel()
    return result + offset


@row("AveragePool")
def average_pool(
    x: T,
    *,
    kernel_shape: Ints,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    dilations: Ints | None = None,
    pads: Ints | None = None,
    strides: Ints | None = None,
) -> T:
    """Return the means of windows, of what is in the images or also of the zeros around."""
    ones = [1] * (x.dim() - 2)
    strides = strides or ones
    if dilations not in (None, ones):
        return _dilated_means(
            x, kernel_shape, strides, pads, auto_pad, ceil_mode, count_include_pad, dilations
        )
    around = _padding(x, kernel_shape, strides, pads, auto_pad)
    pool = _of_rank(_MEAN, x)
    plain = all(b == a and 2 * b <= k for (b, a), k in zip(around, kernel_shape, strict=True))
    if plain and not ceil_mode:
        before = [pair[0] for pair in around]
        return pool(x, kernel_shape, strides, before, count_include_pad=bool(count_include_pad))
    wide = _ceiled(x, kernel_shape, strides, around) if ceil_mode else around
    sums = pool(_padded(x, wide), kernel_shape, strides)
    counts = pool(_counted(x, around, wide, count_include_pad), kernel_shape, strides)
    return sums / counts


def _counted(x: T, around: list[tuple[int, int]], wide: list[tuple[int, int]], include: int) -> T:
    """Return ones where elements count, zeros elsewhere, padded as the images are."""
    inside = torch.ones([1, 1, *x.shape[2:]], dtype=x.dtype, device=x.device)
    counted = _padded(inside, around, 1.0 if include else 0.0)
    rest = [(0, w[1] - a[1]) for w, a in zip(wide, around, strict=True)]
    return _padded(counted, rest)


def _dilated_means(
    x: T,
    kernel: Ints,
    strides: Ints,
    pads: Ints | None,
    auto_pad: str,
    ceil_mode: int,
    include: int,
    dilations: Ints,
) -> T:
    """Return means of windows with holes, by a convolution of each channel."""
    spans = _spans(kernel, dilations)
    around = _padding(x, spans, strides, pads, auto_pad)
    wide = _ceiled(x, spans, strides, around) if ceil_mode else around
    ones = torch.ones([1, 1, *kernel], dtype=x.dtype, device=x.device)
    images = _padded(x, wide)
    each = images.reshape(-1, 1, *images.shape[2:])
    convolve = _of_rank(_CONV, x)
    sums = convolve(each, ones, None, strides, 0, dilations)
    counts = convolve(_counted(x, around, wide, include), ones, None, strides, 0, dilations)
    return (sums / counts).reshape(*x.shape[:2], *sums.shape[2:])


def _over_space(function: Callable[..., T]) -> Callable[[T], T]:
    """Return a reduction of all dimensions of space, which stay with size 1."""
    return lambda x: function(x, list(range(2, x.dim())), True)


row("GlobalAveragePool")(_over_space(torch.mean))
row("GlobalMaxPool")(_over_space(torch.amax))


@row("GlobalLpPool")
def global_lp_pool(x: T, *, p: int = 2) -> T:
    """Return the p-norm over space."""
    return x.abs().pow(p).sum(list(range(2, x.dim())), keepdim=True).pow(1 / p)


@row("LpPool")
def lp_pool(x: T, *, p: int = 2, kernel_shape: Ints, **window: Any) -> T:
    """Return the p-norms of windows."""
    means = average_pool(x.abs().pow(p), kernel_shape=kernel_shape, count_include_pad=1, **window)
    return (means * torch.Size(kernel_shape).numel()).pow(1 / p)
