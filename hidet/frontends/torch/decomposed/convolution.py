"""Transposed and 3D convolutions, and gradients of convolutions, by other convolutions."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from hidet.dialects.graph.window import per_dimension

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
    if not transposed and rank != 3:
        return NotImplemented
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
        grad_weight = _of_weight(image, window, weight.shape, steps)
    grad_bias = grad.sum([0, *range(2, grad.dim())]) if output_mask[2] else None
    return grad_x, grad_weight, grad_bias


def _of_gradient(grad: Tensor, weight: Tensor, sizes: Sequence[int], steps: Steps) -> Tensor:
    """Return the gradient of the image, of given sizes; a transposed convolution is the same.

    It is the convolution of the dilated gradient by flipped filters.
    """
    filters, depth, *kernel = weight.shape
    stride, padding, dilation, groups = steps
    grad = spread(grad, stride)
    pads = pads_of_gradient(grad.shape[2:], sizes, kernel, padding, dilation)
    grad = torch.constant_pad_nd(grad, pads)
    mirrored = weight.reshape(groups, filters // groups, depth, *kernel).transpose(1, 2)
    mirrored = mirrored.reshape(groups * depth, filters // groups, *kernel)
    mirrored = mirrored.flip(list(range(2, weight.dim())))
    ones, zeros = [1] * len(kernel), [0] * len(kernel)
    return _convolved(grad, mirrored, Steps(ones, zeros, dilation, groups))


def _of_weight(image: Tensor, grad: Tensor, shape: Sequence[int], steps: Steps) -> Tensor:
    """Return the gradient of the weight: a convolution of the image by the gradient.

    Batch and channels are exchanged, and so are stride and dilation.
    """
    count, rest, groups = image.shape[0], image.shape[2:], steps.groups
    image = image.reshape(count, groups, -1, *rest).permute(2, 1, 0, *range(3, 3 + len(rest)))
    image = image.reshape(-1, groups * count, *rest)
    turned = steps._replace(stride=steps.dilation, dilation=steps.stride)
    result = _convolved(image, grad.transpose(0, 1), turned)
    for n, size in enumerate(shape[2:]):
        result = result.narrow(2 + n, 0, size)
    return result.transpose(0, 1)


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
    """Return a 3D convolution: the sum of 2D ones of slices along the first dimension."""
    (stride, padding, dilation), groups = steps[:3], steps.groups
    x = torch.constant_pad_nd(x, [0, 0, 0, 0, padding[0], padding[0]])
    of_images = Steps(stride[1:], padding[1:], dilation[1:], groups)
    kernel = weight.shape[2]
    depth = (x.shape[2] - dilation[0] * (kernel - 1) - 1) // stride[0] + 1
    result: Any = 0
    for k in range(kernel):
        start = k * dilation[0]
        part = x[:, :, start : start + (depth - 1) * stride[0] + 1 : stride[0]]
        images = part.transpose(1, 2).flatten(0, 1)
        result = result + _convolved(images, weight[:, :, k], of_images)
    return result.unflatten(0, (x.shape[0], depth)).transpose(1, 2)


CONVOLUTION: dict[Any, Callable[..., Any]] = {
    aten.convolution.default: convolution,
    aten.convolution_backward.default: convolution_backward,
}
"""The decompositions of convolutions."""
