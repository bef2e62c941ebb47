"""Transposed and 3D convolutions, and gradients of convolutions, by other convolutions."""

from collections.abc import Callable, Sequence
from math import prod
from operator import mul
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._prims_common import suggest_memory_format
from torch.library import custom_op

from hidet.dialects.graph.contraction import per_dimension
from hidet.frontends.torch.decomposed.refusal import require

aten = torch.ops.aten


class Steps(NamedTuple):
    """The parameters of a convolution: per dimension, and the groups of channels."""

    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]
    groups: int


def convolution(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """A transposed or 3D convolution."""
    rank = x.dim() - 2
    stride, padding, dilation, extra = (
        per_dimension(values, rank) for values in (stride, padding, dilation, output_padding)
    )
    require(transposed or rank == 3)
    if transposed:
        sizes = [
            (size - 1) * stride[n] - 2 * padding[n] + dilation[n] * (kernel - 1) + extra[n] + 1
            for n, (size, kernel) in enumerate(zip(x.shape[2:], weight.shape[2:], strict=True))
        ]
        result = _of_gradient(x, weight, sizes, Steps(stride, padding, dilation, groups))
    else:
        result = _over_volumes(x, weight, Steps(stride, padding, dilation, groups))
    return result if bias is None else result + bias.reshape(-1, *[1] * rank)


def convolution_backward(
    grad: Tensor,
    x: Tensor,
    weight: Tensor,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    """The gradients of a convolution, which are convolutions of the result's gradient."""
    rank = x.dim() - 2
    each = [per_dimension(values, rank) for values in (stride, padding, dilation)]
    steps = Steps(each[0], each[1], each[2], groups)
    grad_x = grad_weight = None
    if output_mask[0] and transposed:
        grad_x = _convolved(grad, weight, steps)
    elif output_mask[0]:
        grad_x = _of_gradient(grad, weight, x.shape[2:], steps)
    if output_mask[1]:
        image, window = (grad, x) if transposed else (x, grad)
        found = _of_weight(image, window, weight.shape, steps)
        # torch adds up gradients in the layout of the weight, and copies those in another one.
        grad_weight = found.contiguous(memory_format=suggest_memory_format(weight))
    grad_bias = grad.sum([0, *range(2, grad.dim())]) if output_mask[2] else None
    return grad_x, grad_weight, grad_bias


def _of_gradient(grad: Tensor, weight: Tensor, sizes: Sequence[int], steps: Steps) -> Tensor:
    """Return the gradient of the image, of given sizes; a transposed convolution is the same.

    It is the convolution of the dilated gradient by flipped filters.
    """
    filters, depth, *kernel = weight.shape
    stride, padding, dilation, groups = steps
    if max(stride) > 1 and max(dilation) == 1 and filters > groups:
        return _in_phases(grad, weight, sizes, steps)
    grad = spread(grad, stride)
    pads = pads_of_gradient(grad.shape[2:], sizes, kernel, padding, dilation)
    grad = torch.constant_pad_nd(grad, pads)
    mirrored = weight.reshape(groups, filters // groups, depth, *kernel).transpose(1, 2)
    mirrored = mirrored.reshape(groups * depth, filters // groups, *kernel)
    mirrored = mirrored.flip(list(range(2, weight.dim())))
    ones, zeros = [1] * len(kernel), [0] * len(kernel)
    return _convolved(grad, mirrored, Steps(ones, zeros, dilation, groups))


def _in_phases(grad: Tensor, weight: Tensor, sizes: Sequence[int], steps: Steps) -> Tensor:
    """Return the gradient of the image for strides without multiplying inserted zeros.

    Elements of the result at the same distance from a multiple of the stride are a convolution by
    each stride-th tap of the filters; these are more channels of one convolution, and interleaved
    (sub-pixel convolution, Shi et al., 2016).
    """
    filters, depth, *kernel = weight.shape
    stride, padding, _, groups = steps
    rank = len(kernel)
    taps = [-(-size // step) for size, step in zip(kernel, stride, strict=True)]
    phases = [*map(min, kernel, stride)]  # the others have no tap
    weight = _extended(weight, [0] * rank, [*map(mul, taps, phases)])
    parts = [extent for pair in zip(taps, phases, strict=True) for extent in pair]
    weight = weight.reshape(groups, filters // groups, depth, *parts)
    of_taps, of_phases = range(3, 3 + 2 * rank, 2), range(4, 4 + 2 * rank, 2)
    weight = weight.permute(0, *of_phases, 2, 1, *of_taps).flip(list(range(-rank, 0)))
    weight = weight.reshape(groups * prod(phases) * depth, filters // groups, *taps)
    ones = [1] * rank
    result = _convolved(grad, weight, Steps(ones, [tap - 1 for tap in taps], ones, groups))
    count, _, *extents = result.shape
    result = result.reshape(count, groups, *phases, depth, *extents)
    order = [dim for n in range(rank) for dim in (3 + rank + n, 2 + n)]
    result = result.permute(0, 1, 2 + rank, *order)
    wanted = [extent for pair in zip(extents, stride, strict=True) for extent in pair]
    result = _extended(result, [0] * len(wanted), wanted)
    result = result.reshape(count, groups * depth, *map(mul, extents, stride))
    return _extended(result, padding, sizes)


def _extended(x: Tensor, starts: Sequence[int], sizes: Sequence[int]) -> Tensor:
    """Return the last dimensions of x from `starts` on, with zeros behind up to the sizes."""
    pads: list[int] = []
    for start, size, have in zip(starts, sizes, x.shape[-len(sizes) :], strict=True):
        pads = [-start, start + size - have, *pads]
    return torch.constant_pad_nd(x, pads)


def _of_weight(image: Tensor, grad: Tensor, shape: Sequence[int], steps: Steps) -> Tensor:
    """Return the gradient of the weight: an operator, or of 3D ones a convolution by the gradient.

    Then batch and channels are exchanged, and so are stride and dilation.
    """
    count, rest, groups = image.shape[0], image.shape[2:], steps.groups
    if len(rest) <= 2:
        return filter_gradient(image, grad, shape[2:], *steps)
    image = image.reshape(count, groups, -1, *rest).permute(2, 1, 0, *range(3, 3 + len(rest)))
    image = image.reshape(-1, groups * count, *rest)
    turned = steps._replace(stride=steps.dilation, dilation=steps.stride)
    result = _convolved(image, grad.transpose(0, 1), turned)
    for n, size in enumerate(shape[2:]):
        result = result.narrow(2 + n, 0, size)
    return result.transpose(0, 1)


@custom_op("hidet::filter_gradient", mutates_args=())
def filter_gradient(
    image: Tensor,
    grad: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Tensor:
    """Return the gradient [F, C / groups, ...] of the filters of a convolution, 1D or 2D.

    `image` [N, C, ...] is what it convolves, `grad` [N, F, ...] the gradient of its result.
    """
    weight = image.new_empty(grad.shape[1], image.shape[1] // groups, *kernel)
    how = None, stride, padding, dilation, False, [0] * len(kernel), groups, [False, True, False]
    return aten.convolution_backward(grad, image, weight, *how)[1].contiguous()


@filter_gradient.register_fake
def _(image: Tensor, grad: Tensor, kernel: Sequence[int], *how: Any) -> Tensor:
    return image.new_empty(grad.shape[1], image.shape[1] // how[-1], *kernel)


FILTER_GRADIENT: Any = torch.ops.hidet.filter_gradient.default
"""`filter_gradient` as graphs have it."""


def _convolved(x: Tensor, weight: Tensor, steps: Steps) -> Tensor:
    """Return a convolution, not transposed, without bias."""
    *numbers, groups = steps
    return aten.convolution(x, weight, None, *numbers, False, [0] * (x.dim() - 2), groups)


def spread(x: Tensor, stride: Sequence[int]) -> Tensor:
    """Insert stride - 1 zeros between the elements of the last dimensions."""
    for n, step in enumerate(stride, x.dim() - len(stride)):
        if step > 1:
            size = x.shape[n]
            behind = [0, 0] * (x.dim() - 1 - n)
            x = torch.constant_pad_nd(x.unsqueeze(n + 1), [*behind, 0, step - 1])
            x = x.flatten(n, n + 1).narrow(n, 0, (size - 1) * step + 1)
    return x


def pads_of_gradient(
    grad: Sequence[int],
    image: Sequence[int],
    kernel: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> list[int]:
    """Return the padding that aligns windows of the dilated gradient with pixels of the image.

    Arguments are per dimension; the result is in the form of `torch.constant_pad_nd`.
    """
    pads: list[int] = []
    for n in reversed(range(len(kernel))):
        reach = dilation[n] * (kernel[n] - 1)
        front = reach - padding[n]
        pads += [front, image[n] + reach - grad[n] - front]
    return pads


def _over_volumes(x: Tensor, weight: Tensor, steps: Steps) -> Tensor:
    """Return a 3D convolution: a 2D one of images with the slices under a filter as channels."""
    (stride, padding, dilation), groups = steps[:3], steps.groups
    x = torch.constant_pad_nd(x, [0, 0, 0, 0, padding[0], padding[0]])
    filters, depth, kernel, *_ = weight.shape
    slices = x.unfold(2, dilation[0] * (kernel - 1) + 1, stride[0])[..., :: dilation[0]]
    count, _, positions, *extents, _ = slices.shape
    slices = slices.reshape(count, groups, depth, positions, *extents, kernel)
    images = slices.permute(0, 3, 1, 6, 2, 4, 5)
    images = images.reshape(count * positions, groups * kernel * depth, *extents)
    weight = weight.transpose(1, 2).reshape(filters, kernel * depth, *weight.shape[3:])
    result = _convolved(images, weight, Steps(stride[1:], padding[1:], dilation[1:], groups))
    return result.reshape(count, positions, *result.shape[1:]).transpose(1, 2)


CONVOLUTION: dict[Any, Callable[..., Any]] = {
    aten.convolution.default: convolution,
    aten.convolution_backward.default: convolution_backward,
}
"""The decompositions of convolutions."""
