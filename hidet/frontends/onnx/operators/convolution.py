"""Convolutions and pooling, with the padding rules of ONNX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import functional as nn

from hidet.errors import UnsupportedOperatorError
from hidet.frontends.onnx.table import Ints, T, row


def _of_rank(name: str, x: T) -> Callable[..., Any]:
    """Return the function of torch of this name for the spatial dimensions of x, such as conv2d."""
    rank = x.dim() - 2
    if rank not in (1, 2, 3):
        raise UnsupportedOperatorError(f"it slides over {rank} dimensions")
    return getattr(nn, f"{name}{rank}d")


class Windows:
    """Sliding windows, as defined by the attributes of a node.

    Attributes:
        spans: the extents of a window, including dilation.
        around: the padding before and after each spatial dimension.
        wide: the same, extended for a last partial window.
    """

    def __init__(
        self,
        x: T,
        kernel: Sequence[int],
        *,
        auto_pad: str = "NOTSET",
        ceil_mode: int = 0,
        dilations: Ints | None = None,
        pads: Ints | None = None,
        strides: Ints | None = None,
    ) -> None:
        self.kernel, self.space = kernel, x.shape[2:]
        self.ones = [1] * len(self.space)
        self.dilations, self.strides = dilations or self.ones, strides or self.ones
        steps = zip(kernel, self.dilations, strict=True)
        self.spans = [(size - 1) * step + 1 for size, step in steps]
        self.around = self._around(pads or [0] * (2 * len(self.space)), auto_pad)
        self.wide = self._ceiled() if ceil_mode else self.around

    def _around(self, pads: Ints, auto_pad: str) -> list[tuple[int, int]]:
        """Return the padding: explicit, all before and all after, or by a rule."""
        rank = len(self.space)
        if auto_pad in ("NOTSET", ""):
            return list(zip(pads[:rank], pads[rank:], strict=True))
        if auto_pad == "VALID":
            return [(0, 0)] * rank
        sizes = zip(self.space, self.spans, self.strides, strict=True)
        totals = [max((-(-size // step) - 1) * step + span - size, 0) for size, span, step in sizes]
        return _halved(totals, auto_pad == "SAME_UPPER")

    def _ceiled(self) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for size, span, stride, (before, after) in zip(
            self.space, self.spans, self.strides, self.around, strict=True
        ):
            count = -(-(size + before + after - span) // stride) + 1
            if (count - 1) * stride >= size + before:  # it would begin after the image
                count -= 1
            found.append((before, max((count - 1) * stride + span - size - before, after)))
        return found

    @property
    def before(self) -> list[int]:
        """The padding before each dimension."""
        return [before for before, _ in self.wide]

    @property
    def is_plain(self) -> bool:
        """Whether torch's pooling supports the padding: symmetric, at most half a window."""
        sizes = zip(self.wide, self.kernel, strict=True)
        return all(b == a and 2 * b <= size for (b, a), size in sizes)


def _halved(totals: Sequence[int], upper: bool) -> list[tuple[int, int]]:
    """Return paddings split in halves; an odd one has more after, or before."""
    halves = [(total // 2, total - total // 2) for total in totals]
    return halves if upper else [(large, small) for small, large in halves]


def _padded(x: T, pads: Sequence[tuple[int, int]], value: float = 0.0) -> T:
    """Return images padded with a number."""
    amounts = [amount for pair in reversed(pads) for amount in pair]
    return nn.pad(x, amounts, value=value) if any(amounts) else x


@row("Conv")
def conv(
    x: T,
    w: T,
    b: T | None = None,
    *,
    group: int = 1,
    kernel_shape: Ints | None = None,
    **windows: Any,
) -> T:
    """Return the convolution of images [n, c, ...] with filters."""
    over = Windows(x, w.shape[2:], **windows)
    before = over.before
    if any(pair[0] != pair[1] for pair in over.around):
        x, before = _padded(x, over.around), [0] * len(before)
    return _of_rank("conv", x)(x, w, b, over.strides, before, over.dilations, group)


@row("ConvTranspose")
def conv_transpose(
    x: T,
    w: T,
    b: T | None = None,
    *,
    auto_pad: str = "NOTSET",
    group: int = 1,
    kernel_shape: Ints | None = None,
    output_padding: Ints | None = None,
    output_shape: Ints | None = None,
    **windows: Any,
) -> T:
    """Return a transposed convolution."""
    over = Windows(x, w.shape[2:], auto_pad=auto_pad, **windows)
    more = output_padding or [0] * len(over.space)
    full = _of_rank("conv_transpose", x)(x, w, None, over.strides, 0, 0, group, over.dilations)
    if output_shape is None and auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        output_shape = [size * step for size, step in zip(over.space, over.strides, strict=True)]
    if output_shape is None:
        around = [(before, after - n) for (before, after), n in zip(over.around, more, strict=True)]
    else:
        sizes = zip(full.shape[2:], output_shape[-len(more) :], strict=True)
        around = _halved([have - want for have, want in sizes], auto_pad == "SAME_UPPER")
    found = _padded(full, [(-before, -after) for before, after in around])
    return found if b is None else found + b.reshape(-1, *over.ones)


@row("MaxPool")
def max_pool(
    x: T, *, kernel_shape: Ints, storage_order: int = 0, outputs: int, **windows: Any
) -> list[T]:
    """Return the largest elements of windows, and their linear indices."""
    over, pool = Windows(x, kernel_shape, **windows), _of_rank("max_pool", x)
    if outputs == 1 and over.is_plain and x.is_floating_point():
        return [pool(x, kernel_shape, over.strides, over.before, over.dilations)]
    lowest = float("-inf") if x.is_floating_point() else torch.iinfo(x.dtype).min
    padded = _padded(x, over.wide, lowest)
    if outputs == 1:
        return [pool(padded, kernel_shape, over.strides, 0, over.dilations)]
    values, places = pool(
        padded, kernel_shape, over.strides, 0, over.dilations, return_indices=True
    )
    return [values, _places(x, padded, places, over.wide, storage_order)]


def _places(x: T, padded: T, places: T, around: list[tuple[int, int]], storage_order: int) -> T:
    """Convert indices into padded images to linear indices into x."""
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
def average_pool(x: T, *, kernel_shape: Ints, count_include_pad: int = 0, **windows: Any) -> T:
    """Return the means of windows, including or excluding padding."""
    over, pool = Windows(x, kernel_shape, **windows), _of_rank("avg_pool", x)
    has_holes = over.dilations != over.ones
    if over.is_plain and over.wide == over.around and not has_holes:
        include = bool(count_include_pad)
        return pool(x, kernel_shape, over.strides, over.before, count_include_pad=include)

    def total(images: T) -> T:
        if not has_holes:
            return pool(images, kernel_shape, over.strides)
        each = images.reshape(-1, 1, *images.shape[2:])  # a convolution per channel
        ones = torch.ones([1, 1, *kernel_shape], dtype=x.dtype, device=x.device)
        sums = _of_rank("conv", x)(each, ones, None, over.strides, 0, over.dilations)
        return sums.reshape(*images.shape[:2], *sums.shape[2:])

    inside = torch.ones([1, 1, *over.space], dtype=x.dtype, device=x.device)
    counted = _padded(inside, over.around, 1.0 if count_include_pad else 0.0)
    rest = [(0, w[1] - a[1]) for w, a in zip(over.wide, over.around, strict=True)]
    return total(_padded(x, over.wide)) / total(_padded(counted, rest))


def _over_space(function: Callable[..., T]) -> Callable[[T], T]:
    """Return a reduction of all spatial dimensions, which are kept with size 1."""
    return lambda x: function(x, list(range(2, x.dim())), True)


row("GlobalAveragePool")(_over_space(torch.mean))
row("GlobalMaxPool")(_over_space(torch.amax))


@row("GlobalLpPool")
def global_lp_pool(x: T, *, p: int = 2) -> T:
    """Return the p-norm over spatial dimensions."""
    return x.abs().pow(p).sum(list(range(2, x.dim())), keepdim=True).pow(1 / p)


@row("LpPool")
def lp_pool(x: T, *, p: int = 2, kernel_shape: Ints, **windows: Any) -> T:
    """Return the p-norms of windows."""
    means = average_pool(x.abs().pow(p), kernel_shape=kernel_shape, count_include_pad=1, **windows)
    return (means * torch.Size(kernel_shape).numel()).pow(1 / p)
