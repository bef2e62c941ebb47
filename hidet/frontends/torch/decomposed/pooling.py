"""Average, 3D, adaptive and fractional pooling, and gradients of pooling."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from math import prod
from typing import Any

import torch
from torch import Tensor

from hidet.dialects.graph.contraction import per_dimension
from hidet.frontends.torch.decomposed.convolution import pads_of_gradient, spread
from hidet.frontends.torch.decomposed.refusal import require

aten = torch.ops.aten


def max_pool3d(
    x: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """3D max pooling with indices: over images first, then over their stacks."""
    k, s, p, d = (per_dimension(each, 3) for each in (kernel, stride or kernel, padding, dilation))
    *_, depth, height, width = x.shape
    images = x.reshape(-1, depth, height, width)
    pool = aten.max_pool2d_with_indices
    found, pixels = pool(images, k[1:], s[1:], p[1:], d[1:], ceil_mode)
    rows, columns = found.shape[-2:]
    stacks = found.flatten(2)
    found, places = pool(stacks, [k[0], 1], [s[0], 1], [p[0], 0], [d[0], 1], ceil_mode)
    of_pixels = pixels.flatten(1).gather(1, places.flatten(1))
    layers = places.flatten(1) // (rows * columns)
    shape = [*x.shape[:-3], found.shape[1], rows, columns]
    return found.reshape(shape), (layers * (height * width) + of_pixels).reshape(shape)


def avg_pool(
    rank: int,
    x: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor: int | None = None,
) -> Tensor:
    """Average pooling: sums, divided by the numbers of elements of the windows if they differ."""
    k, s, p = (per_dimension(each, rank) for each in (kernel, stride or kernel, padding))
    if divisor is None and not ceil_mode and (count_include_pad or not any(p)):
        divisor = prod(k)
    require(x.is_floating_point() and not (rank == 2 and divisor is not None))
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    total = _sums(wide, k, s, p, ceil_mode)
    if divisor is not None:
        return (total / divisor).to(x.dtype)
    for dim in range(-rank, 0):
        border = p[dim] if count_include_pad else 0
        begin = torch.arange(total.shape[dim], device=x.device) * s[dim] - p[dim]
        end = (begin + k[dim]).clamp(max=x.shape[dim] + border)
        total = total / (end - begin.clamp(min=-border)).reshape(-1, *[1] * (-1 - dim))
    return total.to(x.dtype)


def _sums(
    x: Tensor, k: Sequence[int], s: Sequence[int], p: Sequence[int], ceil_mode: bool
) -> Tensor:
    """Return the sums of windows: in 3D over images, then over their stacks."""
    if len(k) == 2:
        return aten.avg_pool2d(x, k, s, p, ceil_mode, True, 1)
    found = aten.avg_pool2d(x.flatten(0, -4), k[1:], s[1:], p[1:], ceil_mode, True, 1)
    stacks = aten.avg_pool2d(found.flatten(2), [k[0], 1], [s[0], 1], [p[0], 0], ceil_mode, True, 1)
    return stacks.reshape(*x.shape[:-3], stacks.shape[1], *found.shape[2:])


def adaptive_avg_pool(x: Tensor, output_size: Sequence[int]) -> Tensor:
    """Adaptive average pooling; parts of different lengths are looked up, with a mask."""
    rank = len(output_size)
    pairs = list(zip(x.shape[-rank:], output_size, strict=True))
    if not any(size % count for size, count in pairs):
        pool = {2: aten.avg_pool2d, 3: aten.avg_pool3d}[rank]
        return pool(x, [size // count for size, count in pairs])
    first = x.dim() - rank
    found = x.to(torch.promote_types(x.dtype, torch.float32))
    inside: Any = True
    lengths: Any = 1
    for n, (size, count) in reversed(list(enumerate(pairs))):
        begin, end = _bounds(count, size, x)
        most = max(-((i + 1) * size // -count) - i * size // count for i in range(count))
        place = begin + torch.arange(most, device=x.device)
        found = found.index_select(first + n, place.clamp(max=size - 1).reshape(-1))
        found = found.reshape(*x.shape[: first + n], count, most, *found.shape[first + n + 1 :])
        inside = inside & (place < end).reshape(count, most, *[1] * (2 * (rank - 1 - n)))
        lengths = lengths * (end - begin).reshape(count, *[1] * (rank - 1 - n))
    total = torch.where(inside, found, 0).sum([first + 1 + 2 * n for n in range(rank)])
    return (total / lengths).to(x.dtype)


def adaptive_max_pool(x: Tensor, output_size: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Adaptive max pooling with indices."""
    dims = range(-len(output_size), 0)
    sizes = x.shape[dims[0] :]
    numbers = torch.arange(sizes.numel(), device=x.device).reshape(sizes)
    places = numbers.expand(x.shape)
    for dim, count in zip(reversed(dims), reversed(output_size), strict=True):
        inside = _parts(count, x.shape[dim], x) > 0
        rows = x.movedim(dim, -1)
        largest = torch.where(inside, rows[..., None, :], -torch.inf).amax(-1)
        same = (rows[..., None, :] == largest[..., None]) | rows.isnan()[..., None, :]
        number = torch.arange(x.shape[dim], device=x.device)
        first = torch.where(same & inside, number, x.shape[dim]).amin(-1)
        places = places.movedim(dim, -1).gather(-1, first).movedim(-1, dim)
        x = largest.movedim(-1, dim)
    return x.contiguous(), places.contiguous()


def fractional_max_pool(
    x: Tensor, kernel: Sequence[int], output_size: Sequence[int], samples: Tensor
) -> Any:
    """Max pooling with indices of windows at random positions, which `samples` determine.

    See B. Graham, Fractional Max-Pooling, 2014.
    """
    # Of shorter types, torch rounds positions to halves.
    require(samples.dtype in (torch.float32, torch.float64) and 0 not in x.shape)
    rank = len(output_size)
    images = x.reshape(-1, *x.shape[-rank - 1 :])
    samples = samples.flip(-1) if rank == 2 else samples  # in 2D the first is of the columns
    index = torch.zeros((1, 1, 1, 1), dtype=torch.int64, device=x.device)
    for axis in range(rank):  # index [n, c, windows, elements]
        size, width, count = images.shape[2 + axis], kernel[axis], output_size[axis]
        sample, number = samples[..., axis, None], torch.arange(count, device=x.device)
        step = (size - width) / max(count - 1, 1)
        start = ((number + sample) * step).long() - (sample * step).long()
        start = torch.where(number == count - 1, size - width, start)
        places = start[..., None] + torch.arange(width, device=x.device)
        index = index[..., None, :, None] * size + places[:, :, None, :, None]
        index = index.flatten(4).flatten(2, 3)
    values = images.flatten(2).gather(2, index.flatten(2)).reshape(index.shape)
    found, last = values.amax(-1), index.shape[-1]
    # The first of the largest elements, or the last NaN.
    number = torch.arange(last, device=x.device)
    score = torch.where(values == found[..., None], last - number, 0)
    score = torch.where(values.isnan(), last + number, score).amax(-1, keepdim=True)
    index = index.gather(-1, (score - last).abs())
    shape = [*x.shape[:-rank], *output_size]
    return found.reshape(shape), index.reshape(shape)


MAX_WINDOWS = 9
"""The most windows over an element all of whose indices are compared with its own."""

_INDICES = torch.int16, torch.int32, torch.int64
"""The types of indices of pixels, shortest first."""


def max_pool_backward(rank: int, grad: Tensor, x: Tensor, *rest: Any) -> Tensor:
    """The gradient of max pooling: of the windows over an element, those whose index it has.

    The other arguments are the kernel, stride, padding, dilation, ceil_mode and the indices.
    """
    kernel, stride, padding, dilation, _, indices = rest
    window = kernel, stride or kernel, padding, dilation
    k, s, p, d = (per_dimension(each, rank) for each in window)
    windows = [-(-((k[n] - 1) * d[n] + 1) // s[n]) for n in range(rank)]
    if prod(windows) > MAX_WINDOWS or 0 in x.shape:
        return scattered(rank, grad, x, indices)
    sizes, counts = x.shape[-rank:], grad.shape[-rank:]
    # Forward then saves the indices in the type that they are compared in.
    short = next(each for each in _INDICES if sizes.numel() <= torch.iinfo(each).max)
    number = torch.arange(sizes.numel(), dtype=short, device=x.device).reshape(sizes)
    indices = indices.to(short)
    total: Any = 0
    for shifts in product(*map(range, windows)):
        places: list[Tensor] = []
        inside: Any = True
        for n, shift in enumerate(shifts):
            element = torch.arange(sizes[n], device=x.device).reshape(-1, *[1] * (rank - 1 - n))
            place = (element + p[n]) // s[n] - shift
            inside = inside & (place >= 0) & (place < counts[n])
            places.append(place.clamp(0, counts[n] - 1))
        # One comparison an element: its number here, and no number where there is no window.
        same = indices[..., *places] == torch.where(inside, number, -1)
        wide = grad[..., *places].to(torch.promote_types(grad.dtype, torch.float32))
        total = torch.where(same, wide, 0) + total
    return total.to(grad.dtype)


def scattered(rank: int, grad: Tensor, x: Tensor, *rest: Any) -> Tensor:
    """The gradient of max pooling: a scatter to the indices, the last argument."""
    pixels = grad.flatten(-rank)
    zeros = x.new_zeros(()).expand(x.shape).flatten(-rank)
    return zeros.scatter_add(-1, rest[-1].flatten(-rank), pixels).reshape(x.shape)


def avg_pool_backward(
    rank: int,
    grad: Tensor,
    x: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Tensor:
    """The gradient of average pooling: pooling over the dilated gradient."""
    pool = {2: aten.avg_pool2d, 3: aten.avg_pool3d}[rank]
    kernel, padding = per_dimension(kernel, rank), per_dimension(padding, rank)
    stride = per_dimension(stride or kernel, rank)
    # Pooling of ones with a divisor of 1 counts the elements of each window.
    ones = x.new_ones((1, *x.shape[-rank:]))
    if divisor is not None:
        grad = grad / divisor
    elif count_include_pad and not ceil_mode:
        grad = grad / prod(kernel)
    else:
        require(not count_include_pad)
        grad = grad / pool(ones, kernel, stride, padding, ceil_mode, True, 1)
    grad = spread(grad, stride)
    pads = pads_of_gradient(grad.shape[-rank:], x.shape[-rank:], kernel, padding, [1] * rank)
    grad = torch.constant_pad_nd(grad, pads)
    return pool(grad, kernel, [1] * rank, [0] * rank, False, True, 1)


def adaptive_avg_pool_backward(rank: int, grad: Tensor, x: Tensor) -> Tensor:
    """Equal parts are average pooling; the gradient of others is a matmul with their weights."""
    result = grad
    for dim in range(-rank, 0):
        size, count = x.shape[dim], grad.shape[dim]
        result = (result.transpose(dim, -1) @ _parts(count, size, grad)).transpose(dim, -1)
    return result


def _parts(count: int, size: int, like: Tensor) -> Tensor:
    """Return the matrix [count, size] of the weights of elements in parts of a dimension."""
    begin, end = _bounds(count, size, like)
    element = torch.arange(size, device=like.device)
    inside = (element >= begin) & (element < end)
    return (inside / (end - begin)).to(like.dtype)


def _bounds(count: int, size: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return the first element of each part of a dimension, and the one after it: [count, 1]."""
    number = torch.arange(count, device=like.device)[:, None]
    return number * size // count, ((number + 1) * size + count - 1) // count


POOLING: dict[Any, Callable[..., Any]] = {
    aten._adaptive_avg_pool2d_backward.default: partial(adaptive_avg_pool_backward, 2),
    aten._adaptive_avg_pool2d.default: adaptive_avg_pool,
    aten._adaptive_avg_pool3d.default: adaptive_avg_pool,
    aten._adaptive_avg_pool3d_backward.default: partial(adaptive_avg_pool_backward, 3),
    aten.adaptive_max_pool2d.default: adaptive_max_pool,
    aten.adaptive_max_pool2d_backward.default: partial(scattered, 2),
    aten.adaptive_max_pool3d.default: adaptive_max_pool,
    aten.adaptive_max_pool3d_backward.default: partial(scattered, 3),
    aten.avg_pool2d_backward.default: partial(avg_pool_backward, 2),
    aten.avg_pool2d.default: partial(avg_pool, 2),
    aten.avg_pool3d.default: partial(avg_pool, 3),
    aten.avg_pool3d_backward.default: partial(avg_pool_backward, 3),
    aten.fractional_max_pool2d.default: fractional_max_pool,
    aten.fractional_max_pool2d_backward.default: partial(scattered, 2),
    aten.fractional_max_pool3d.default: fractional_max_pool,
    aten.fractional_max_pool3d_backward.default: partial(scattered, 3),
    aten.max_pool2d_with_indices_backward.default: partial(max_pool_backward, 2),
    aten.max_pool3d_with_indices.default: max_pool3d,
    aten.max_pool3d_with_indices_backward.default: partial(max_pool_backward, 3),
}
"""The decompositions of pools."""
